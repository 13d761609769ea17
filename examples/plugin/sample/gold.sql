-- @q1: How many customers are there?
SELECT COUNT(*) FROM customers;

-- @q2: Who are our customers?
SELECT name FROM customers;

-- @q3: Who is our last customer?
SELECT name FROM customers ORDER BY id DESC;

-- @q4: What has each customer spent?
SELECT c.name, SUM(o.amount)
FROM customers AS c JOIN orders AS o ON o.customer = c.id
GROUP BY c.id;
