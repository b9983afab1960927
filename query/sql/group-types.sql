-- The number of a site's groups of each type.
SELECT toString(latest.2) AS type, count() AS groups
FROM $GROUPS_WITH_MEMBERS$
GROUP BY type
ORDER BY groups DESC, type
