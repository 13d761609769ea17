-- Eight tables as large as TPC-H's, with values spread as its queries expect, made of nothing but numbers.
-- {random3:25} stands for a whole number below 25 that follows from the row: 3 says which one. {scale} is 1 for 1 GB.
-- A third of the customers never order.

CREATE TABLE region AS SELECT range AS id, ['Africa', 'America', 'Asia', 'Europe', 'Orient'][range + 1] AS name
    FROM range(5);

CREATE TABLE nation AS SELECT range AS id, 'nation ' || lpad(range::VARCHAR, 2, '0') AS name, range % 5 AS
    region_id FROM range(25);

CREATE TABLE supplier AS SELECT range + 1 AS id, 'supplier ' || lpad(range::VARCHAR, 9, '0') AS name,
    {random:25} AS nation_id, (({random2:1100000}) / 100 - 1000)::DECIMAL(15, 2) AS balance, CASE WHEN range %
    2000 = 7 THEN 'customer has complaints' ELSE 'nothing of note ' || range END AS remark
    FROM range({scale} * 10000);

CREATE TABLE customer AS SELECT range + 1 AS id, 'customer ' || lpad(range::VARCHAR, 9, '0') AS name,
    {random:25} AS nation_id, (10 + {random:25})::VARCHAR || '-' || {random3:1000} || '-' || {random4:10000} AS
    phone, (({random2:1100000}) / 100 - 1000)::DECIMAL(15, 2) AS balance, ['building', 'household', 'machinery',
    'furniture', 'automobile'][{random5:5} + 1] AS segment FROM range({scale} * 150000);

CREATE TABLE part AS SELECT range + 1 AS id, ['green', 'forest', 'steel', 'ivory', 'linen', 'almond', 'coral',
    'azure', 'lemon', 'smoke', 'wheat', 'rose'][{random:12} + 1] || ' ' || ['green', 'forest', 'steel', 'ivory',
    'linen', 'almond', 'coral', 'azure', 'lemon', 'smoke', 'wheat', 'rose'][{random2:12} + 1] AS name, 'brand '
    || (11 + {random3:5} * 10 + {random4:5}) AS brand, 1 + {random5:50} AS size, ['standard', 'small', 'medium',
    'large', 'economy', 'promo'][{random6:6} + 1] || ' ' || ['brushed', 'plated', 'polished',
    'burnished'][{random7:4} + 1] || ' ' || ['tin', 'nickel', 'brass', 'steel', 'copper'][{random8:5} + 1] AS
    kind, ['small', 'medium', 'large', 'jumbo'][{random9:4} + 1] || ' ' || ['case', 'box', 'bag', 'pack',
    'drum'][{random10:5} + 1] AS container, (900 + (range % 1000) / 10 + range % 200)::DECIMAL(15, 2) AS price
    FROM range({scale} * 200000);

CREATE TABLE offer AS SELECT range // 4 + 1 AS part_id, 1 + (range // 4 + (range % 4) * ({scale} * 2500 + 1)) %
    ({scale} * 10000) AS supplier_id, 1 + {random:9999} AS available, (1 + {random2:99900} / 100)::DECIMAL(15,
    2) AS cost FROM range({scale} * 800000);

CREATE TABLE orders AS SELECT range + 1 AS id, 1 + ({random:100000} * {scale} // 1) * 3 // 2 AS customer_id,
    DATE '1992-01-01' + ({random2:2406})::INTEGER AS day, 1 + {random3:5} AS priority, CASE WHEN {random2:2406}
    < 1263 THEN 'done' WHEN {random4:2} = 0 THEN 'open' ELSE 'partly' END AS status, CASE WHEN {random5:90} = 3
    THEN 'special handling of requests' ELSE 'order ' || {random6:10000} END AS remark
    FROM range({scale} * 1500000);

CREATE TABLE line AS WITH made AS (SELECT o.id AS order_id, n.range + 1 AS number, o.day, o.id * 7 + n.range AS
    range FROM orders o, range(7) n WHERE n.range <= hash(o.id) % 7) SELECT order_id, number, 1 +
    {random:200000} * {scale} AS part_id, {random3:4} AS which_offer, (1 + {random2:50})::DECIMAL(15, 2) AS
    quantity, ((1 + {random2:50}) * (900 + {random4:1100}))::DECIMAL(15, 2) AS price, ({random5:11} /
    100)::DECIMAL(15, 2) AS discount, ({random6:9} / 100)::DECIMAL(15, 2) AS tax, day + (1 +
    {random7:121})::INTEGER AS shipped, day + (30 + {random8:61})::INTEGER AS promised, day + (2 + {random7:121}
    + {random9:30})::INTEGER AS received, CASE WHEN day + (2 + {random7:121} + {random9:30})::INTEGER > DATE
    '1995-06-17' THEN 'N' WHEN {random10:2} = 0 THEN 'R' ELSE 'A' END AS returned, CASE WHEN day + (1 +
    {random7:121})::INTEGER > DATE '1995-06-17' THEN 'open' ELSE 'done' END AS status, ['rail', 'ship', 'truck',
    'air', 'post', 'barge', 'courier'][{random11:7} + 1] AS way, ['in person', 'none', 'cash',
    'return'][{random12:4} + 1] AS instruction FROM made;

ALTER TABLE line ADD COLUMN supplier_id BIGINT;

UPDATE line SET supplier_id = 1 + (part_id - 1 + which_offer * ({scale} * 2500 + 1)) % ({scale} * 10000);

ALTER TABLE line DROP COLUMN which_offer;

ALTER TABLE orders ADD COLUMN total DECIMAL(15, 2);

UPDATE orders SET total = t.total FROM (SELECT order_id, sum(price * (1 - discount) * (1 + tax))::DECIMAL(15, 2)
    AS total FROM line GROUP BY order_id) t WHERE t.order_id = id;
