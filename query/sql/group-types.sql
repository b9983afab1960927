-- How many groups of a site have each type.
SELECT toString(latest.2) AS type, count() AS groups
FROM $GROUPS_WITH_MEMBERS$
GROUP BY type
ORDER BY groups DESC, type
