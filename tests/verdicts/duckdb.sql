CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT, team TEXT, points INT, feeling mood);
INSERT INTO player VALUES (1,'Ann','red',10,'sad'),(2,'Bob','red',7,'happy'),(3,'Cid','blue',7,'ok'),(4,'Dee','blue',7,'ok'),
 (5,'Eve','green',3,'sad'),(6,'Fay','green',NULL,'happy'),(7,'Gus','black',NULL,NULL);
CREATE TABLE cell(id INTEGER, flag BOOLEAN, price DECIMAL(10,2), ratio DOUBLE, small FLOAT, day DATE, moment TIMESTAMP,
 instant TIMESTAMPTZ, span INTERVAL, clock TIME, uid UUID, big HUGEINT, raw BLOB, items INTEGER[], thing STRUCT(a INTEGER, b TEXT), dict MAP(TEXT, INTEGER));
INSERT INTO cell VALUES
 (1, true, 1.50, 0.1, 0.5, '2024-01-01', '2024-01-01 00:00:00', '2024-01-01 12:00:00+00', INTERVAL 1 DAY, '12:00:00',
  '123e4567-e89b-12d3-a456-426614174000', 170141183460469231731687303715884105727, '\x00\xFF'::BLOB, [1,2], {'a': 1, 'b': 'x'}, MAP {'k': 1}),
 (2, false, 2.25, 0.2, 0.25, '2024-02-01', '2024-02-01 06:30:00', '2024-02-01 12:00:00+01', INTERVAL 2 HOUR, '06:30:00',
  '123e4567-e89b-12d3-a456-426614174001', 170141183460469231731687303715884105726, '\x01'::BLOB, [2,1], {'a': 2, 'b': 'y'}, MAP {'k': 2});
CREATE TABLE empty(a INT, b TEXT);
CREATE SEQUENCE numbers;
