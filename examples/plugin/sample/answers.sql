-- @q1
SELECT 3;

-- @q2
SELECT id FROM customers;

-- @q3
SELECT name FROM customers ORDER BY id DESC LIMIT 1;

-- @q4
DELETE FROM orders;
