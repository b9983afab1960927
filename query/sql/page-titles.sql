-- The latest titles of the pages with the named paths, from all views in a span of time: events up to the last flush
-- that the owner knew to be complete, and hot events.
SELECT origin, path, argMax(title, (createdAt, id)) AS lastTitle
FROM $TITLED_VIEWS$
GROUP BY origin, path
