CREATE TABLE branch (
    branch_id INTEGER PRIMARY KEY, name VARCHAR, city VARCHAR, country VARCHAR, opened_on DATE
);
CREATE TABLE client (
    client_id INTEGER PRIMARY KEY, full_name VARCHAR, city VARCHAR, country VARCHAR, segment VARCHAR,
    joined_on DATE, email VARCHAR
);
CREATE TABLE account (
    account_id INTEGER PRIMARY KEY, client_id INTEGER, branch_id INTEGER, kind VARCHAR,
    balance DECIMAL(12, 2), opened_on DATE, closed_on DATE
);
CREATE TABLE transfer (
    transfer_id INTEGER PRIMARY KEY, account_id INTEGER, amount DECIMAL(12, 2), booked_at TIMESTAMP,
    purpose VARCHAR, status VARCHAR
);
