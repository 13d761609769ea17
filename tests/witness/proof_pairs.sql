-- Pairs of queries over the schema of proof_pairs.py. Each has a kind, a query, an equal one (=), and a twin that is not (!).

-- conditions
SELECT name FROM player WHERE age BETWEEN 20 AND 30;
= SELECT name FROM player WHERE NOT (age < 20 OR age > 30);
! SELECT name FROM player WHERE age > 20 AND age < 30;

-- conditions
SELECT name FROM player WHERE age IN (20, 30);
= SELECT name FROM player WHERE age = 30 OR 20 = age;
! SELECT name FROM player WHERE age BETWEEN 20 AND 30;

-- conditions
SELECT name FROM player WHERE NOT (age = 20 AND goals = 1);
= SELECT name FROM player WHERE age <> 20 OR goals <> 1;
! SELECT name FROM player WHERE age <> 20 AND goals <> 1;

-- conditions
SELECT name FROM player WHERE age NOT IN (20, 30);
= SELECT name FROM player WHERE age <> 20 AND age <> 30;
! SELECT name FROM player WHERE age IS NULL OR age NOT IN (20, 30);

-- conditions
SELECT name FROM player WHERE goals IS NOT NULL AND age > 3;
= SELECT name FROM player WHERE age > 3;
! SELECT name FROM player WHERE age >= 3;

-- conditions
SELECT name FROM player WHERE age = age;
= SELECT name FROM player WHERE age IS NOT NULL;
! SELECT name FROM player;

-- conditions
SELECT name FROM player WHERE goals = goals;
= SELECT name FROM player;
! SELECT name FROM player WHERE age = goals;

-- conditions
SELECT name FROM player WHERE age > 20 AND age > 10;
= SELECT name FROM player WHERE age > 20;
! SELECT name FROM player WHERE age > 10;

-- conditions
SELECT name FROM player WHERE age > 20 OR age > 10;
= SELECT name FROM player WHERE age > 10;
! SELECT name FROM player WHERE age > 20;

-- conditions
SELECT name FROM player WHERE age > 20 AND goals = age;
= SELECT name FROM player WHERE age = goals AND goals > 20;
! SELECT name FROM player WHERE age > 20 AND goals >= 20;

-- conditions
SELECT name FROM player WHERE (age > 3 AND goals = 1) OR (age > 3 AND goals = 2);
= SELECT name FROM player WHERE age > 3 AND goals IN (1, 2);
! SELECT name FROM player WHERE age > 3 AND goals = 1 OR goals = 2;

-- conditions
SELECT name FROM player WHERE age = 3 AND goals = 3 AND id = age;
= SELECT name FROM player WHERE id = 3 AND age = id AND goals = id;
! SELECT name FROM player WHERE id = 3 AND goals = 3;

-- conditions
SELECT name FROM player WHERE age < 3 AND age > 5;
= SELECT name FROM player WHERE 1 = 0;
! SELECT name FROM player WHERE age < 3 OR age > 5;

-- conditions
SELECT name FROM player WHERE CASE WHEN age > 3 THEN 1 ELSE 0 END = 1;
= SELECT name FROM player WHERE age > 3;
! SELECT name FROM player WHERE CASE WHEN age > 3 THEN 0 ELSE 1 END = 1;

-- conditions
SELECT name FROM player WHERE COALESCE(age, 0) > 3;
= SELECT name FROM player WHERE age > 3;
! SELECT name FROM player WHERE COALESCE(age, 9) > 3;

-- joins
SELECT p.name FROM player p JOIN team t ON p.team_id = t.id;
= SELECT name FROM player;
! SELECT p.name FROM player p JOIN player m ON p.mentor_id = m.id;

-- joins
SELECT p.name, t.name FROM player p JOIN team t ON p.team_id = t.id WHERE t.city = 'Porto';
= SELECT u.name, q.name FROM team q, player u WHERE q.city = 'Porto' AND q.id = u.team_id;
! SELECT p.name, t.name FROM player p LEFT JOIN team t ON p.team_id = t.id AND t.city = 'Porto';

-- joins
SELECT a.name FROM player a JOIN player b ON a.id = b.id WHERE b.age > 3;
= SELECT name FROM player WHERE age > 3;
! SELECT a.name FROM player a JOIN player b ON a.age = b.age WHERE b.age > 3;

-- joins
SELECT p.name FROM player p LEFT JOIN team t ON p.team_id = t.id;
= SELECT name FROM player;
! SELECT p.name FROM player p LEFT JOIN game g ON p.team_id = g.home_id;

-- joins
SELECT p.name, t.city FROM player p LEFT JOIN team t ON p.team_id = t.id;
= SELECT p.name, t.city FROM player p JOIN team t ON p.team_id = t.id;
! SELECT p.name, t.city FROM player p LEFT JOIN team t ON p.team_id = t.id AND t.budget > 1;

-- joins
SELECT p.name, m.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id WHERE m.age > 3;
= SELECT p.name, m.name FROM player p JOIN player m ON p.mentor_id = m.id AND m.age > 3;
! SELECT p.name, m.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id AND m.age > 3;

-- joins
SELECT p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id WHERE m.id IS NULL;
= SELECT p.name FROM player p WHERE NOT EXISTS (SELECT 1 FROM player m WHERE m.id = p.mentor_id);
! SELECT p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id WHERE m.age IS NULL;

-- joins
SELECT m.name, p.name FROM player m RIGHT JOIN player p ON p.mentor_id = m.id;
= SELECT m.name, p.name FROM player p LEFT JOIN player m ON p.mentor_id = m.id;
! SELECT m.name, p.name FROM player m LEFT JOIN player p ON p.mentor_id = m.id;

-- joins
SELECT p.name, t.name FROM player p JOIN team t ON t.id = p.team_id JOIN game g ON g.home_id = t.id;
= SELECT p.name, t.name FROM game g JOIN player p ON g.home_id = p.team_id JOIN team t ON t.id = g.home_id;
! SELECT p.name, t.name FROM player p JOIN team t ON t.id = p.team_id JOIN game g ON g.away_id = t.id;

-- joins
SELECT p.id FROM part x JOIN player p ON p.id = x.player_id JOIN game g ON g.id = x.game_id;
= SELECT player_id FROM part;
! SELECT DISTINCT player_id FROM part;

-- joins
SELECT p.name, t.name FROM player p FULL JOIN team t ON p.team_id = t.id;
= SELECT p.name, t.name FROM team t FULL JOIN player p ON t.id = p.team_id;
! SELECT p.name, t.name FROM player p LEFT JOIN team t ON p.team_id = t.id;

-- joins
SELECT name, nick FROM player p JOIN (SELECT id AS team_id FROM team) t USING (team_id);
= SELECT name, nick FROM player;
! SELECT t.name, nick FROM player p JOIN team t ON t.id = p.id;

-- joins
SELECT p.name FROM player p JOIN player m ON p.mentor_id = m.id;
= SELECT name FROM player WHERE mentor_id IS NOT NULL;
! SELECT m.name FROM player p JOIN player m ON p.mentor_id = m.id;

-- joins
SELECT p.name FROM player p CROSS JOIN team t WHERE p.team_id = t.id AND t.id = 3;
= SELECT name FROM player WHERE team_id = 3;
! SELECT p.name FROM player p CROSS JOIN team t WHERE t.id = 3;

-- joins
SELECT g.id FROM game g LEFT JOIN team h ON g.home_id = h.id LEFT JOIN team a ON g.away_id = a.id;
= SELECT id FROM game;
! SELECT g.id FROM game g JOIN team h ON g.home_id = h.id JOIN team a ON g.away_id = a.id;

-- grouping
SELECT team_id, COUNT(*) FROM player GROUP BY team_id;
= SELECT team_id, COUNT(goals) FROM player GROUP BY team_id;
! SELECT team_id, COUNT(age) FROM player GROUP BY team_id;

-- grouping
SELECT t.name, COUNT(*) FROM team t JOIN player p ON p.team_id = t.id GROUP BY t.id;
= SELECT t.name, COUNT(p.id) FROM player p JOIN team t ON p.team_id = t.id GROUP BY p.team_id, t.name;
! SELECT t.name, COUNT(*) FROM team t JOIN player p ON p.team_id = t.id GROUP BY t.name;

-- grouping
SELECT age FROM player GROUP BY age;
= SELECT DISTINCT age FROM player;
! SELECT age FROM player;

-- grouping
SELECT id, MAX(age) FROM player GROUP BY id;
= SELECT id, age FROM player;
! SELECT team_id, MAX(age) FROM player GROUP BY team_id;

-- grouping
SELECT team_id, COUNT(*) FROM player GROUP BY team_id HAVING team_id > 3;
= SELECT team_id, COUNT(*) FROM player WHERE team_id > 3 GROUP BY team_id;
! SELECT team_id, COUNT(*) FROM player GROUP BY team_id HAVING COUNT(*) > 3;

-- grouping
SELECT team_id FROM player GROUP BY team_id HAVING COUNT(*) >= 2;
= SELECT team_id FROM player GROUP BY team_id HAVING COUNT(*) > 1;
! SELECT team_id FROM player GROUP BY team_id HAVING COUNT(age) > 1;

-- grouping
SELECT DISTINCT team_id, MIN(age) FROM player GROUP BY team_id;
= SELECT team_id, MIN(age) FROM player GROUP BY team_id;
! SELECT DISTINCT MIN(age) FROM player GROUP BY team_id;

-- grouping
SELECT COUNT(DISTINCT id) FROM player;
= SELECT COUNT(*) FROM player;
! SELECT COUNT(DISTINCT team_id) FROM player;

-- grouping
SELECT COUNT(*) FROM (SELECT DISTINCT team_id FROM player) AS d;
= SELECT COUNT(DISTINCT team_id) FROM player;
! SELECT COUNT(*) FROM (SELECT DISTINCT age FROM player) AS d;

-- grouping
SELECT COUNT(d.age) FROM (SELECT DISTINCT age FROM player) AS d;
= SELECT COUNT(DISTINCT age) FROM player;
! SELECT COUNT(*) FROM (SELECT DISTINCT age FROM player) AS d;

-- grouping
SELECT n.team_id FROM (SELECT team_id, COUNT(*) AS c FROM player GROUP BY team_id) AS n WHERE n.c > 2;
= SELECT team_id FROM player GROUP BY team_id HAVING COUNT(*) > 2;
! SELECT n.team_id FROM (SELECT team_id, COUNT(age) AS c FROM player GROUP BY team_id) AS n WHERE n.c > 2;

-- grouping
SELECT t.name, n.c FROM team t JOIN (SELECT team_id, COUNT(*) AS c FROM player GROUP BY team_id) n ON n.team_id = t.id;
= SELECT t.name, COUNT(*) FROM team t JOIN player p ON p.team_id = t.id GROUP BY t.id, t.name;
! SELECT t.name, COUNT(p.id) FROM team t LEFT JOIN player p ON p.team_id = t.id GROUP BY t.id, t.name;

-- grouping
SELECT MAX(age) FROM player p JOIN part x ON x.player_id = p.id;
= SELECT MAX(age) FROM player WHERE id IN (SELECT player_id FROM part);
! SELECT SUM(age) FROM player p JOIN part x ON x.player_id = p.id;

-- grouping
SELECT MIN(DISTINCT age) FROM player;
= SELECT MIN(age) FROM player;
! SELECT SUM(DISTINCT age) FROM player;

-- grouping
SELECT SUM(goals) FROM player WHERE team_id = 3 GROUP BY team_id;
= SELECT SUM(goals) FROM player GROUP BY team_id HAVING team_id = 3;
! SELECT SUM(goals) FROM player WHERE team_id = 3;

-- grouping
SELECT team_id, age FROM player GROUP BY team_id, age;
= SELECT DISTINCT team_id, age FROM player;
! SELECT team_id, MAX(age) FROM player GROUP BY team_id;

-- grouping
SELECT team_id, SUM(CASE WHEN age > 3 THEN goals END) FROM player GROUP BY team_id;
= SELECT team_id, SUM(goals) FILTER (WHERE age > 3) FROM player GROUP BY team_id;
! SELECT team_id, SUM(goals) FROM player WHERE age > 3 GROUP BY team_id;

-- subqueries
SELECT name FROM player WHERE team_id IN (SELECT id FROM team WHERE city = 'Porto');
= SELECT p.name FROM player p JOIN team t ON p.team_id = t.id WHERE t.city = 'Porto';
! SELECT p.name FROM team t JOIN player p ON p.id = t.id WHERE t.city = 'Porto';

-- subqueries
SELECT name FROM team WHERE id IN (SELECT team_id FROM player);
= SELECT name FROM team t WHERE EXISTS (SELECT 1 FROM player p WHERE p.team_id = t.id);
! SELECT t.name FROM team t JOIN player p ON p.team_id = t.id;

-- subqueries
SELECT DISTINCT t.id FROM team t JOIN player p ON p.team_id = t.id;
= SELECT id FROM team WHERE id IN (SELECT team_id FROM player);
! SELECT t.id FROM team t JOIN player p ON p.team_id = t.id;

-- subqueries
SELECT name FROM team WHERE id NOT IN (SELECT team_id FROM player);
= SELECT name FROM team t WHERE NOT EXISTS (SELECT * FROM player p WHERE p.team_id = t.id);
! SELECT name FROM team WHERE id NOT IN (SELECT mentor_id FROM player);

-- subqueries
SELECT name FROM player WHERE id NOT IN (SELECT mentor_id FROM player WHERE mentor_id IS NOT NULL);
= SELECT name FROM player p WHERE NOT EXISTS (SELECT 1 FROM player q WHERE q.mentor_id = p.id);
! SELECT name FROM player WHERE id NOT IN (SELECT mentor_id FROM player);

-- subqueries
SELECT name FROM player WHERE team_id = (SELECT id FROM team WHERE id = 3);
= SELECT name FROM player WHERE team_id = 3;
! SELECT name FROM player WHERE EXISTS (SELECT id FROM team WHERE id = 3);

-- subqueries
SELECT name FROM player WHERE age > (SELECT AVG(age) FROM player);
= SELECT p.name FROM player p WHERE p.age > (SELECT AVG(q.age) FROM player q WHERE q.age IS NOT NULL);
! SELECT name FROM player WHERE age >= (SELECT AVG(age) FROM player);

-- subqueries
SELECT name FROM team WHERE id IN (SELECT team_id FROM player GROUP BY team_id HAVING COUNT(*) > 2);
= SELECT t.name FROM team t JOIN player p ON p.team_id = t.id GROUP BY t.id HAVING COUNT(*) > 2;
! SELECT t.name FROM team t JOIN player p ON p.team_id = t.id GROUP BY t.name HAVING COUNT(*) > 2;

-- subqueries
SELECT name FROM player p WHERE EXISTS (SELECT 1 FROM team t WHERE t.id = p.team_id);
= SELECT name FROM player;
! SELECT name FROM player p WHERE EXISTS (SELECT 1 FROM game g WHERE g.home_id = p.team_id);

-- subqueries
SELECT name FROM player WHERE EXISTS (SELECT 1 FROM game);
= SELECT name FROM player WHERE EXISTS (SELECT id, season FROM game ORDER BY season LIMIT 1);
! SELECT name FROM player WHERE EXISTS (SELECT 1 FROM game WHERE crowd > 1);

-- subqueries
SELECT name FROM player WHERE EXISTS (SELECT COUNT(*) FROM game);
= SELECT name FROM player;
! SELECT name FROM player WHERE EXISTS (SELECT COUNT(*) FROM game GROUP BY season);

-- subqueries
SELECT name FROM player WHERE age = (SELECT MAX(age) FROM player);
= SELECT name FROM player WHERE age IN (SELECT MAX(age) FROM player);
! SELECT name FROM player ORDER BY age DESC LIMIT 1;

-- subqueries
SELECT name FROM player p WHERE age IN (SELECT age FROM player q WHERE q.team_id = p.team_id AND q.goals > 3);
= SELECT name FROM player p WHERE EXISTS (SELECT 1 FROM player r WHERE p.age = r.age AND 3 < r.goals AND p.team_id = r.team_id);
! SELECT name FROM player p WHERE age IN (SELECT age FROM player q WHERE q.goals > 3);

-- subqueries
SELECT season, COUNT(*) FROM game WHERE season IN (SELECT season FROM game GROUP BY season HAVING COUNT(*) > 1) GROUP BY season;
= SELECT season, COUNT(*) FROM game GROUP BY season HAVING COUNT(*) > 1;
! SELECT season, COUNT(*) FROM game WHERE season IN (SELECT season FROM game GROUP BY season HAVING COUNT(crowd) > 1) GROUP BY season;

-- ctes
WITH old AS (SELECT id, name FROM player WHERE age > 3) SELECT name FROM old;
= SELECT name FROM player WHERE age > 3;
! WITH old AS (SELECT DISTINCT name FROM player WHERE age > 3) SELECT name FROM old;

-- ctes
WITH a AS (SELECT * FROM player), b AS (SELECT * FROM a WHERE goals > 2) SELECT a.id FROM a JOIN b ON a.id = b.id;
= SELECT id FROM player WHERE goals > 2;
! WITH a AS (SELECT * FROM player), b AS (SELECT * FROM a WHERE goals > 2) SELECT a.id FROM a JOIN b ON a.goals = b.goals;

-- ctes
SELECT x.n FROM (SELECT name AS n, age AS a FROM player) AS x WHERE x.a = 3;
= SELECT y.name FROM (SELECT * FROM player WHERE age = 3) AS y;
! SELECT x.n FROM (SELECT name AS n, goals AS a FROM player) AS x WHERE x.a = 3;

-- ctes
SELECT DISTINCT d.team_id FROM (SELECT DISTINCT team_id, age FROM player) AS d;
= SELECT DISTINCT team_id FROM player;
! SELECT d.team_id FROM (SELECT DISTINCT team_id, age FROM player) AS d;

-- ctes
WITH c AS (SELECT team_id, SUM(goals) AS s FROM player GROUP BY team_id) SELECT t.name, c.s FROM team t JOIN c ON c.team_id = t.id WHERE c.s > 4;
= SELECT t.name, SUM(p.goals) FROM player p, team t WHERE p.team_id = t.id GROUP BY t.id HAVING SUM(p.goals) > 4;
! SELECT t.name, SUM(p.goals) FROM player p, team t WHERE p.team_id = t.id AND p.goals > 4 GROUP BY t.id;

-- ctes
SELECT p.name, d.m FROM player p JOIN (SELECT MAX(goals) AS m FROM player) AS d ON p.goals = d.m;
= SELECT q.name, e.m FROM (SELECT MAX(r.goals) AS m FROM player r) AS e JOIN player q ON e.m = q.goals;
! SELECT p.name, d.m FROM player p LEFT JOIN (SELECT MAX(goals) AS m FROM player) AS d ON p.goals = d.m;

-- sets
SELECT team_id FROM player UNION SELECT home_id FROM game;
= SELECT home_id FROM game UNION SELECT team_id FROM player;
! SELECT team_id FROM player UNION ALL SELECT home_id FROM game;

-- sets
SELECT id FROM player WHERE age = 3 UNION SELECT id FROM player WHERE goals = 3;
= SELECT id FROM player WHERE age = 3 OR goals = 3;
! SELECT id FROM player WHERE age = 3 UNION ALL SELECT id FROM player WHERE goals = 3;

-- sets
SELECT team_id FROM player WHERE age = 3 UNION SELECT team_id FROM player WHERE goals = 3;
= SELECT DISTINCT team_id FROM player WHERE age = 3 OR goals = 3;
! SELECT team_id FROM player WHERE age = 3 OR goals = 3;

-- sets
SELECT id FROM team INTERSECT SELECT team_id FROM player;
= SELECT id FROM team WHERE EXISTS (SELECT 1 FROM player WHERE team_id = team.id);
! SELECT id FROM team INTERSECT SELECT id FROM player;

-- sets
SELECT id FROM team EXCEPT SELECT team_id FROM player;
= SELECT id FROM team WHERE id NOT IN (SELECT team_id FROM player);
! SELECT id FROM team WHERE id NOT IN (SELECT mentor_id FROM player);

-- sets
SELECT name FROM team EXCEPT SELECT name FROM player;
= SELECT DISTINCT name FROM team WHERE name NOT IN (SELECT name FROM player);
! SELECT name FROM team WHERE name NOT IN (SELECT name FROM player);

-- sets
SELECT id FROM player UNION ALL SELECT id FROM team UNION ALL SELECT id FROM game;
= SELECT id FROM game UNION ALL SELECT id FROM player UNION ALL SELECT id FROM team;
! SELECT id FROM player UNION ALL SELECT id FROM team UNION SELECT id FROM game;

-- sets
SELECT id FROM player WHERE age > 5 UNION SELECT id FROM player;
= SELECT id FROM player;
! SELECT id FROM player WHERE age > 5 UNION SELECT id FROM player WHERE age <= 5;

-- sets
SELECT age FROM player INTERSECT SELECT crowd FROM game;
= SELECT DISTINCT age FROM player WHERE EXISTS (SELECT 1 FROM game WHERE crowd = age OR (crowd IS NULL AND age IS NULL));
! SELECT DISTINCT age FROM player WHERE age IN (SELECT crowd FROM game);

-- sets
SELECT x.id FROM (SELECT id FROM player UNION ALL SELECT id FROM team) AS x WHERE x.id > 3;
= SELECT id FROM player WHERE id > 3 UNION ALL SELECT id FROM team WHERE id > 3;
! SELECT id FROM player WHERE id > 3 UNION ALL SELECT id FROM team;

-- sets
SELECT home_id FROM game WHERE crowd > 2 UNION SELECT away_id FROM game WHERE crowd > 2;
= SELECT away_id FROM game WHERE 2 < crowd UNION SELECT home_id FROM game WHERE crowd > 2;
! SELECT home_id FROM game WHERE crowd > 2 UNION SELECT away_id FROM game;

-- values
SELECT v.a FROM (VALUES (1), (2)) AS v(a);
= SELECT w.b FROM (VALUES (2), (1)) AS w(b);
! SELECT v.a FROM (VALUES (1), (2), (2)) AS v(a);

-- values
SELECT p.name FROM player p JOIN (VALUES (3)) AS v(a) ON p.age = v.a;
= SELECT name FROM player WHERE age = 3;
! SELECT p.name FROM player p JOIN (VALUES (3), (3)) AS v(a) ON p.age = v.a;

-- values
SELECT p.name FROM player p WHERE p.age IN (SELECT v.a FROM (VALUES (3), (4)) AS v(a));
= SELECT name FROM player WHERE age IN (3, 4);
! SELECT p.name FROM player p WHERE p.age IN (SELECT v.a FROM (VALUES (3), (5)) AS v(a));

-- order
SELECT name FROM player ORDER BY id LIMIT 2;
= SELECT p.name FROM player AS p ORDER BY p.id, p.age LIMIT 2;
! SELECT name FROM player ORDER BY id DESC LIMIT 2;

-- order
SELECT MAX(age) FROM player LIMIT 1;
= SELECT MAX(age) FROM player;
! SELECT age FROM player ORDER BY age DESC LIMIT 1;

-- order
SELECT name FROM player WHERE id = 3 LIMIT 1;
= SELECT name FROM player WHERE id = 3;
! SELECT name FROM player WHERE age = 3 LIMIT 1;

-- order
SELECT id, age FROM player ORDER BY 2 DESC, id LIMIT 3;
= SELECT id, age AS a FROM player ORDER BY a DESC, 1 LIMIT 3;
! SELECT id, age FROM player ORDER BY 1, 2 DESC LIMIT 3;

-- windows
SELECT name, RANK() OVER (PARTITION BY team_id ORDER BY goals DESC) FROM player;
= SELECT p.name, RANK() OVER (PARTITION BY t.id ORDER BY p.goals DESC) FROM player p JOIN team t ON t.id = p.team_id;
! SELECT name, RANK() OVER (ORDER BY goals DESC) FROM player;

-- windows
SELECT name, SUM(goals) OVER (PARTITION BY team_id) FROM player WHERE age > 3;
= SELECT q.name, SUM(q.goals) OVER (PARTITION BY q.team_id) FROM (SELECT * FROM player WHERE age > 3) AS q;
! SELECT q.name, q.s FROM (SELECT name, age, SUM(goals) OVER (PARTITION BY team_id) AS s FROM player) AS q WHERE q.age > 3;

-- windows
SELECT w.name FROM (SELECT name, ROW_NUMBER() OVER (ORDER BY id) AS n FROM player) AS w WHERE w.n = 1;
= SELECT u.name FROM (SELECT name, ROW_NUMBER() OVER (ORDER BY id, age) AS r FROM player) AS u WHERE u.r = 1;
! SELECT w.name FROM (SELECT name, ROW_NUMBER() OVER (ORDER BY id DESC) AS n FROM player) AS w WHERE w.n = 1;

-- windows
SELECT team_id, COUNT(*), RANK() OVER (ORDER BY COUNT(*)) FROM player GROUP BY team_id;
= SELECT team_id, COUNT(id), RANK() OVER (ORDER BY COUNT(goals)) FROM player GROUP BY team_id;
! SELECT team_id, COUNT(*), DENSE_RANK() OVER (ORDER BY COUNT(*)) FROM player GROUP BY team_id;

-- conditions on groups
SELECT team_id FROM player GROUP BY team_id HAVING MAX(age) > 20;
= SELECT DISTINCT team_id FROM player WHERE age > 20;
! SELECT team_id FROM player GROUP BY team_id HAVING MIN(age) > 20;

-- conditions on groups
SELECT team_id, MIN(age) FROM player GROUP BY team_id HAVING MIN(age) <= 20;
= SELECT team_id, MIN(age) FROM player WHERE age <= 20 GROUP BY team_id;
! SELECT team_id, MIN(age) FROM player WHERE age < 20 GROUP BY team_id;

-- conditions on groups
SELECT team_id, MAX(age) FROM player GROUP BY team_id HAVING COUNT(age) > 0;
= SELECT team_id, MAX(age) FROM player WHERE age IS NOT NULL GROUP BY team_id;
! SELECT team_id, MAX(age) FROM player GROUP BY team_id HAVING COUNT(*) > 0;

-- conditions on groups
SELECT COUNT(*) FROM player HAVING COUNT(*) >= 0;
= SELECT COUNT(*) FROM player;
! SELECT COUNT(*) FROM player HAVING COUNT(*) > 0;

-- counts
SELECT COUNT(age) FROM player WHERE goals > 1;
= SELECT COUNT(*) FROM player WHERE goals > 1 AND age IS NOT NULL;
! SELECT COUNT(*) FROM player WHERE goals > 1;

-- counts
SELECT COUNT(CASE WHEN age > 20 THEN 1 END) FROM player;
= SELECT COUNT(*) FROM player WHERE 20 < age;
! SELECT COUNT(CASE WHEN age > 20 THEN 1 ELSE 0 END) FROM player;

-- counts
SELECT name FROM team WHERE (SELECT COUNT(*) FROM player WHERE player.team_id = team.id) > 0;
= SELECT name FROM team WHERE EXISTS (SELECT 1 FROM player WHERE player.team_id = team.id);
! SELECT name FROM team WHERE (SELECT COUNT(*) FROM player WHERE player.team_id = team.id) > 1;

-- counts
SELECT name FROM team WHERE (SELECT COUNT(age) FROM player WHERE player.team_id = team.id) = 0;
= SELECT name FROM team WHERE NOT EXISTS (SELECT 1 FROM player WHERE player.team_id = team.id AND age IS NOT NULL);
! SELECT name FROM team WHERE NOT EXISTS (SELECT 1 FROM player WHERE player.team_id = team.id);

-- groups of groups
SELECT SUM(s) FROM (SELECT team_id, SUM(goals) AS s FROM player GROUP BY team_id) q;
= SELECT SUM(goals) FROM player;
! SELECT SUM(s) FROM (SELECT DISTINCT team_id, goals AS s FROM player) q;

-- groups of groups
SELECT team_id, SUM(n) FROM (SELECT team_id, age, COUNT(*) AS n FROM player GROUP BY team_id, age) q GROUP BY team_id;
= SELECT team_id, COUNT(*) FROM player GROUP BY team_id;
! SELECT team_id, COUNT(n) FROM (SELECT team_id, age, COUNT(*) AS n FROM player GROUP BY team_id, age) q GROUP BY team_id;

-- groups of groups
SELECT MAX(m) FROM (SELECT team_id, MAX(age) AS m FROM player GROUP BY team_id) q WHERE team_id > 1;
= SELECT MAX(age) FROM player WHERE team_id > 1;
! SELECT MIN(m) FROM (SELECT team_id, MAX(age) AS m FROM player GROUP BY team_id) q WHERE team_id > 1;

-- sets
SELECT * FROM (SELECT home_id FROM game UNION SELECT team_id FROM player) q WHERE home_id > 1;
= SELECT home_id FROM game WHERE home_id > 1 UNION SELECT team_id FROM player WHERE team_id > 1;
! SELECT home_id FROM game WHERE home_id > 1 UNION ALL SELECT team_id FROM player WHERE team_id > 1;

-- its own row
SELECT id FROM player EXCEPT SELECT id FROM player WHERE age > 20;
= SELECT id FROM player WHERE age <= 20 OR age IS NULL;
! SELECT id FROM player WHERE age <= 20;

-- its own row
SELECT age FROM player EXCEPT SELECT age FROM player WHERE age > 20;
= SELECT DISTINCT age FROM player WHERE age <= 20 OR age IS NULL;
! SELECT age FROM player EXCEPT SELECT age FROM player WHERE goals > 20;

-- its own row
SELECT name FROM player WHERE id NOT IN (SELECT id FROM player WHERE goals > 2);
= SELECT name FROM player WHERE goals <= 2;
! SELECT name FROM player WHERE name NOT IN (SELECT name FROM player WHERE goals > 2);
