-- What the sender of an order was answered: its device and its session, either of which may be empty. No element: not known,
-- as for orders of before, and of erased people. A row of an erasure is about an order where `orderId` is not empty.
ALTER TABLE orders ADD COLUMN IF NOT EXISTS answered Array(String) CODEC(ZSTD) AFTER waiting;
ALTER TABLE erasing ADD COLUMN IF NOT EXISTS orderId String;
