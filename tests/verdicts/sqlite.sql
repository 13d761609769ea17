CREATE TABLE t(id INTEGER PRIMARY KEY, n TEXT, v REAL, g TEXT);
INSERT INTO t VALUES (1,'a',1.0,'x'),(2,'b',2.0,'x'),(3,'c',2.0,'y'),(4,'d',NULL,'y');
CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT, team TEXT, points INT, city TEXT COLLATE NOCASE);
INSERT INTO player VALUES (1,'Ann','red',10,'Oslo'),(2,'Bob','red',7,'oslo'),(3,'Cid','blue',7,'Rome'),
 (4,'Dee','blue',7,'rome'),(5,'Eve','green',3,'Bern'),(6,'Fay','green',NULL,'Kyiv'),(7,'Gus','black',NULL,'Lima');
CREATE TABLE pair(a, b, k INT);
INSERT INTO pair VALUES (1,2,0),(3,4,0),(2,1,1),(4,3,1),(1,4,2),(3,2,2),(1,2,3),(4,3,3),(1,1,4),(2,2,4),(1,1,5),(1,2,5);
CREATE TABLE dup(x INT, y TEXT);
INSERT INTO dup VALUES (1,'p'),(1,'p'),(2,'q');
CREATE TABLE mixed(id INTEGER PRIMARY KEY, x);
INSERT INTO mixed VALUES (1,7),(2,'7'),(3,7.0),(4,NULL),(5,''),(6,0),(7,x'37'),(8,'abc');
CREATE TABLE word(id INTEGER PRIMARY KEY, w TEXT);
INSERT INTO word VALUES (1,'10'),(2,'9'),(3,'100'),(4,'9');
CREATE TABLE sale(id INTEGER PRIMARY KEY, day TEXT, amount REAL);
INSERT INTO sale VALUES (1,'2024-01-01',0.1),(2,'2024-01-02',0.2),(3,'2024-02-01',0.7),(4,'2024-02-01',100.25);
CREATE TABLE "order"("order" INT, "limit" INT);
INSERT INTO "order" VALUES (1,5),(2,4),(3,4);
CREATE TABLE empty(a INT, b TEXT);
CREATE TABLE wide(c0 INT,c1 INT,c2 INT,c3 INT,c4 INT,c5 INT,c6 INT,c7 INT,c8 INT,c9 INT);
INSERT INTO wide WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r WHERE i < 50)
 SELECT i%2, i/2%2, i/3%2, i/4%2, i/5%2, i/6%2, i/7%2, i*i/3%2, i*i/5%2, i*i*i/7%2 FROM r;
