-- Twenty-two questions about the tables, one for each of TPC-H's queries and of its kind.

-- What was shipped, by state of its lines.
SELECT returned, status, sum(quantity), sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1
    + tax)), avg(quantity), avg(price), avg(discount), count(*) FROM line
    WHERE shipped <= DATE '1998-08-15' GROUP BY returned, status ORDER BY returned, status;

-- Who in Europe offers a part of some kind for the least.
SELECT s.balance, s.name, n.name, p.id, s.remark FROM part p JOIN offer o ON o.part_id = p.id JOIN supplier s ON
    s.id = o.supplier_id JOIN nation n ON n.id = s.nation_id JOIN region r ON r.id = n.region_id
    WHERE p.size = 15 AND p.kind LIKE '%brass' AND r.name = 'Europe' AND o.cost = ( SELECT min(b.cost)
    FROM offer b JOIN supplier t ON t.id = b.supplier_id JOIN nation m ON m.id = t.nation_id JOIN region q ON
    q.id = m.region_id WHERE b.part_id = p.id AND q.name = 'Europe') ORDER BY s.balance DESC, n.name, s.name,
    p.id LIMIT 100;

-- The open orders that are worth most.
SELECT l.order_id, sum(l.price * (1 - l.discount)) AS worth, o.day FROM customer c JOIN orders o ON
    o.customer_id = c.id JOIN line l ON l.order_id = o.id WHERE c.segment = 'building' AND o.day < DATE
    '1995-03-15' AND l.shipped > DATE '1995-03-15' GROUP BY l.order_id, o.day
    ORDER BY worth DESC, o.day, l.order_id LIMIT 10;

-- Orders with a late line, by priority.
SELECT priority, count(*) FROM orders o WHERE day >= DATE '1993-07-01' AND day < DATE '1993-10-01' AND EXISTS (
    SELECT 1 FROM line l WHERE l.order_id = o.id AND l.promised < l.received)
    GROUP BY priority ORDER BY priority;

-- Sales among neighbours.
SELECT n.name, sum(l.price * (1 - l.discount)) AS sales FROM customer c JOIN orders o ON o.customer_id = c.id
    JOIN line l ON l.order_id = o.id JOIN supplier s ON s.id = l.supplier_id AND s.nation_id = c.nation_id JOIN
    nation n ON n.id = s.nation_id JOIN region r ON r.id = n.region_id WHERE r.name = 'Asia' AND o.day >= DATE
    '1994-01-01' AND o.day < DATE '1995-01-01' GROUP BY n.name ORDER BY sales DESC;

-- What small discounts cost.
SELECT sum(price * discount) FROM line WHERE shipped >= DATE '1994-01-01' AND shipped < DATE '1995-01-01' AND
    discount BETWEEN 0.05 AND 0.07 AND quantity < 24;

-- Goods between two nations, by year.
SELECT seller, buyer, year(shipped), sum(worth) FROM (SELECT n.name AS seller, m.name AS buyer, l.shipped,
    l.price * (1 - l.discount) AS worth FROM supplier s JOIN line l ON l.supplier_id = s.id JOIN orders o ON
    o.id = l.order_id JOIN customer c ON c.id = o.customer_id JOIN nation n ON n.id = s.nation_id JOIN nation m
    ON m.id = c.nation_id WHERE (n.name, m.name) IN (('nation 06', 'nation 07'), ('nation 07', 'nation 06')) AND
    l.shipped BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') t GROUP BY ALL
    ORDER BY 1, 2, 3;

-- A nation's share of a market, by year.
SELECT y, sum(CASE WHEN name = 'nation 02' THEN worth ELSE 0 END) / sum(worth)
    FROM (SELECT year(o.day) AS y, n.name, l.price * (1 - l.discount) AS worth
    FROM part p JOIN line l ON l.part_id = p.id JOIN orders o ON o.id = l.order_id JOIN customer c ON c.id =
    o.customer_id JOIN nation m ON m.id = c.nation_id JOIN region r ON r.id = m.region_id JOIN supplier s ON
    s.id = l.supplier_id JOIN nation n ON n.id = s.nation_id WHERE r.name = 'America' AND o.day BETWEEN DATE
    '1995-01-01' AND DATE '1996-12-31' AND p.kind = 'economy polished steel') t
    GROUP BY y ORDER BY y;

-- What green parts earn, by nation and year.
SELECT n.name, year(o.day) AS y, sum(l.price * (1 - l.discount) - b.cost * l.quantity)
    FROM part p JOIN line l ON l.part_id = p.id JOIN offer b ON b.part_id = l.part_id AND b.supplier_id =
    l.supplier_id JOIN orders o ON o.id = l.order_id JOIN supplier s ON s.id = l.supplier_id JOIN nation n ON
    n.id = s.nation_id WHERE p.name LIKE '%green%' GROUP BY n.name, y ORDER BY n.name, y DESC;

-- Customers who send back most.
SELECT c.id, c.name, sum(l.price * (1 - l.discount)) AS lost, c.balance, n.name, c.phone
    FROM customer c JOIN orders o ON o.customer_id = c.id JOIN line l ON l.order_id = o.id JOIN nation n ON n.id
    = c.nation_id WHERE o.day >= DATE '1993-10-01' AND o.day < DATE '1994-01-01' AND l.returned = 'R'
    GROUP BY c.id, c.name, c.balance, c.phone, n.name ORDER BY lost DESC, c.id LIMIT 20;

-- The parts that make most of a nation's stock.
SELECT b.part_id, sum(b.cost * b.available) AS worth FROM offer b JOIN supplier s ON s.id = b.supplier_id JOIN
    nation n ON n.id = s.nation_id WHERE n.name = 'nation 07' GROUP BY b.part_id
    HAVING sum(b.cost * b.available) > (SELECT sum(d.cost * d.available) * 0.0001
    FROM offer d JOIN supplier t ON t.id = d.supplier_id JOIN nation m ON m.id = t.nation_id
    WHERE m.name = 'nation 07') ORDER BY worth DESC, b.part_id;

-- How urgent what came late was, by way of transport.
SELECT l.way, count(*) FILTER (WHERE o.priority <= 2), count(*) FILTER (WHERE o.priority > 2)
    FROM orders o JOIN line l ON l.order_id = o.id WHERE l.way IN ('post', 'ship') AND l.promised < l.received
    AND l.shipped < l.promised AND l.received >= DATE '1994-01-01' AND l.received < DATE '1995-01-01'
    GROUP BY l.way ORDER BY l.way;

-- How many customers have how many orders.
SELECT made, count(*) AS customers FROM (SELECT c.id, count(o.id) AS made
    FROM customer c LEFT JOIN orders o ON o.customer_id = c.id AND o.remark NOT LIKE '%special%requests%'
    GROUP BY c.id) t GROUP BY made ORDER BY customers DESC, made DESC;

-- The share of promotions in a month's sales.
SELECT 100 * sum(CASE WHEN p.kind LIKE 'promo%' THEN l.price * (1 - l.discount) ELSE 0 END) / sum(l.price * (1 -
    l.discount)) FROM line l JOIN part p ON p.id = l.part_id WHERE l.shipped >= DATE '1995-09-01' AND l.shipped
    < DATE '1995-10-01';

-- The supplier who sold most in a quarter.
WITH sold AS (SELECT supplier_id, sum(price * (1 - discount)) AS worth FROM line
    WHERE shipped >= DATE '1996-01-01' AND shipped < DATE '1996-04-01' GROUP BY supplier_id) SELECT s.id,
    s.name, sold.worth FROM supplier s JOIN sold ON sold.supplier_id = s.id
    WHERE sold.worth = (SELECT max(worth) FROM sold) ORDER BY s.id;

-- How many suppliers have parts of some kinds.
SELECT p.brand, p.kind, p.size, count(DISTINCT b.supplier_id) AS suppliers
    FROM offer b JOIN part p ON p.id = b.part_id WHERE p.brand <> 'brand 45' AND p.kind NOT LIKE
    'medium polished%' AND p.size IN (49, 14, 23, 45, 19, 3, 36, 9) AND b.supplier_id NOT IN (SELECT id
    FROM supplier WHERE remark LIKE '%customer%complaints%') GROUP BY p.brand, p.kind, p.size
    ORDER BY suppliers DESC, p.brand, p.kind, p.size;

-- What small amounts of a part bring in a year.
SELECT sum(l.price) / 7.0 FROM line l JOIN part p ON p.id = l.part_id WHERE p.brand = 'brand 23' AND p.container
    = 'medium box' AND l.quantity < (SELECT 0.2 * avg(k.quantity) FROM line k
    WHERE k.part_id = p.id);

-- The largest orders, and whose they are.
SELECT c.name, c.id, o.id, o.day, o.total, sum(l.quantity) FROM customer c JOIN orders o ON o.customer_id = c.id
    JOIN line l ON l.order_id = o.id WHERE o.id IN (SELECT order_id FROM line
    GROUP BY order_id HAVING sum(quantity) > 280) GROUP BY c.name, c.id, o.id, o.day, o.total
    ORDER BY o.total DESC, o.day, o.id LIMIT 100;

-- Sales of some brands, each in its own range.
SELECT sum(l.price * (1 - l.discount)) FROM line l JOIN part p ON p.id = l.part_id
    WHERE l.way IN ('air', 'courier') AND l.instruction = 'in person' AND ((p.brand = 'brand 12' AND p.container
    LIKE 'small%' AND l.quantity BETWEEN 1 AND 11 AND p.size <= 5) OR (p.brand = 'brand 23' AND p.container LIKE
    'medium%' AND l.quantity BETWEEN 10 AND 20 AND p.size <= 10) OR (p.brand = 'brand 34' AND p.container LIKE
    'large%' AND l.quantity BETWEEN 20 AND 30 AND p.size <= 15));

-- Suppliers who have more of a part than half a year takes.
SELECT s.name, s.balance FROM supplier s JOIN nation n ON n.id = s.nation_id
    WHERE n.name = 'nation 03' AND s.id IN ( SELECT b.supplier_id FROM offer b
    WHERE b.part_id IN (SELECT id FROM part WHERE name LIKE 'forest%') AND b.available > (SELECT 0.5 *
    sum(l.quantity) FROM line l WHERE l.part_id = b.part_id AND l.supplier_id = b.supplier_id AND l.shipped >=
    DATE '1994-01-01' AND l.shipped < DATE '1995-01-01')) ORDER BY s.name;

-- Suppliers for whom alone an order waited.
SELECT s.name, count(*) AS waits FROM supplier s JOIN line l ON l.supplier_id = s.id JOIN orders o ON o.id =
    l.order_id JOIN nation n ON n.id = s.nation_id WHERE o.status = 'done' AND l.received > l.promised AND
    n.name = 'nation 20' AND EXISTS (SELECT 1 FROM line k WHERE k.order_id = l.order_id AND k.supplier_id <>
    l.supplier_id) AND NOT EXISTS (SELECT 1 FROM line k WHERE k.order_id = l.order_id AND k.supplier_id <>
    l.supplier_id AND k.received > k.promised) GROUP BY s.name ORDER BY waits DESC, s.name LIMIT 100;

-- Rich customers without an order, by the first two digits of their phone.
SELECT code, count(*), sum(balance) FROM (SELECT left(phone, 2) AS code, balance
    FROM customer c WHERE left(phone, 2) IN ('13', '31', '23', '29', '30', '18', '17') AND balance > (SELECT
    avg(balance) FROM customer WHERE balance > 0 AND left(phone, 2) IN ('13', '31', '23', '29', '30', '18',
    '17')) AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)) t
    GROUP BY code ORDER BY code;
