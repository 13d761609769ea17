-- Kettle & Quill: a small online shop for tea and stationery, made up for this project.
-- Money is in whole cents of a euro, dates are text (YYYY-MM-DD), and what is unknown is NULL.

CREATE TABLE categories (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  parent_id INTEGER REFERENCES categories (id)  -- NULL: a category at the top
);

CREATE TABLE products (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,
  category_id INTEGER REFERENCES categories (id),
  price_cents INTEGER NOT NULL,
  stock       INTEGER NOT NULL,
  active      INTEGER NOT NULL  -- 1: on sale, 0: withdrawn
);

CREATE TABLE employees (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  title      TEXT NOT NULL,
  manager_id INTEGER REFERENCES employees (id),  -- NULL: the director
  hired_on   TEXT NOT NULL
);

CREATE TABLE customers (
  id        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  email     TEXT,
  city      TEXT,
  joined_on TEXT NOT NULL
);

CREATE TABLE orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  employee_id INTEGER REFERENCES employees (id),  -- NULL: ordered on the web site
  ordered_on  TEXT NOT NULL,
  status      TEXT NOT NULL  -- pending, shipped, delivered, cancelled
);

CREATE TABLE order_items (
  order_id         INTEGER NOT NULL REFERENCES orders (id),
  line             INTEGER NOT NULL,
  product_id       INTEGER NOT NULL REFERENCES products (id),
  quantity         INTEGER NOT NULL,
  unit_price_cents INTEGER NOT NULL,
  PRIMARY KEY (order_id, line)
);

CREATE TABLE payments (
  id           INTEGER PRIMARY KEY,
  order_id     INTEGER NOT NULL REFERENCES orders (id),
  method       TEXT NOT NULL,  -- card, transfer, voucher
  amount_cents INTEGER NOT NULL,
  paid_on      TEXT  -- NULL: asked for, not yet received
);

CREATE TABLE returns (
  id           INTEGER PRIMARY KEY,
  order_id     INTEGER NOT NULL REFERENCES orders (id),
  product_id   INTEGER REFERENCES products (id),  -- NULL: came back without its label
  quantity     INTEGER NOT NULL,
  refund_cents INTEGER NOT NULL,
  reason       TEXT,
  returned_on  TEXT NOT NULL
);

CREATE TABLE reviews (
  id          INTEGER PRIMARY KEY,
  product_id  INTEGER NOT NULL REFERENCES products (id),
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  stars       INTEGER NOT NULL,  -- 1 to 5
  body        TEXT
);
