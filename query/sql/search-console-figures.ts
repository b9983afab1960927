/**
 * The statements about Google's Search Console: clicks, impressions and positions by day, page or query. A position is an average over
 * impressions, so its sum is added up. A withdrawn row has a position below 0.
 */

const SUMS = `sum(clicks) AS clickCount, sum(impressions) AS impressionCount, sum(position * impressions) AS positionSum`;
const DAYS = 'date BETWEEN {from:Date} AND {to:Date}';
const PAGE = 'LIMIT {limit:UInt64} OFFSET {offset:UInt64}';
/** The rows of one page or one query, if the question names it. */
const OF_PAGE_AND_QUERY = `({page:String} = '' OR page = {page:String})
    AND ({query:String} = '' OR query = {query:String})`;

function rows(days: string, condition: string): string {
  return `FROM search_console FINAL
WHERE projectId = {site:String}
    AND (${days})
    AND position >= 0
    AND ${condition}`;
}

/** A condition on a column: it contains the text that is searched for, if there is one. */
function contains(column: string): string {
  return `({search:String} = '' OR positionCaseInsensitiveUTF8(${column}, {search:String}) > 0)`;
}

/** By name of the statement. */
export const SEARCH_CONSOLE_FIGURES: Readonly<Record<string, string>> = {
  /** Each day of two spans of days. */
  'search-console-series': `SELECT date AS day, ${SUMS}
${rows(`${DAYS} OR date BETWEEN {previousFrom:Date} AND {previousTo:Date}`, OF_PAGE_AND_QUERY)}
GROUP BY day
ORDER BY day`,

  /** Pages or queries by clicks; `$COLUMNS$` is the column. */
  'search-console-ranking': `SELECT $COLUMNS$ AS word, ${SUMS}
${rows(DAYS, `${OF_PAGE_AND_QUERY} AND ${contains('$COLUMNS$')}`)}
GROUP BY word
ORDER BY clickCount DESC, impressionCount DESC, word
${PAGE}`,

  /** Frequent queries at positions where more people should click. `expected` has the rate of each position from 1. */
  'search-console-opportunities': `SELECT word, clickCount, impressionCount, positionSum
FROM
(
    SELECT
        query AS word, ${SUMS},
        positionSum / impressionCount AS average,
        {expected:Array(Float64)}[toUInt32(floor(average + 0.5))] AS expectedCtr
    ${rows(DAYS, `query != '' AND ${contains('query')}`)}
    GROUP BY word
    HAVING impressionCount >= {minImpressions:UInt64}
        AND average BETWEEN {firstPosition:Float64} AND {lastPosition:Float64}
        AND clickCount < impressionCount * expectedCtr
)
ORDER BY impressionCount * expectedCtr - clickCount DESC, impressionCount DESC, word
${PAGE}`,

  /** Queries for which several pages of the site were shown, with these pages. Fragments of addresses are cut off first. */
  'search-console-cannibalization': `SELECT
    word, sum(pageImpressions) AS impressionCount, sum(pageClicks) AS clickCount, count() AS total,
    arraySlice(
        arraySort(
            place -> (-place.2, -place.3, place.1),
            groupArray((address, toInt64(pageClicks), toInt64(pageImpressions), positionSum))
        ),
        1, {pagesMax:UInt32}
    ) AS places
FROM
(
    SELECT
        query AS word, splitByChar('#', page)[1] AS address, ${SUMS},
        clickCount AS pageClicks, impressionCount AS pageImpressions
    ${rows(DAYS, "query != ''")}
    GROUP BY word, address
    HAVING pageImpressions > 0
)
GROUP BY word
HAVING total >= 2 AND impressionCount >= {minImpressions:UInt64}
ORDER BY impressionCount DESC, word
${PAGE}`,
};
