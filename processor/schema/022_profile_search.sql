-- Runs beside: 021_alone_index.sql
-- What a search looks for, as one text in lower case: reading and comparing three texts of each record takes twice as long. It is not
-- packed as tightly as other texts, because a search reads it of every record: 18 bytes each, of a million made-up people.
ALTER TABLE profiles ADD COLUMN IF NOT EXISTS
    searched String MATERIALIZED lowerUTF8(concat(id, '\n', firstName, ' ', lastName, '\n', email)) CODEC(LZ4);
ALTER TABLE profiles MATERIALIZE COLUMN searched;
