/** The columns of made statements, with their types in the store. Types of rows (`Row` of `History.ask`) rely on them. */
export const ANSWER_COLUMNS: Readonly<Record<string, string>> = {
  'metrics-events':
    'isCurrent UInt8, isTotal UInt64, edge Int64, visitors UInt64, screenViews Int64, revenue Map(String, String)',
  'metrics-sessions': 'edge Int64, sessions Int64, bounces Int64, durationMs Int64',
  'metrics-events-rollup':
    'isCurrent UInt8, isTotal UInt64, edge Int64, visitors UInt64, screenViews Int64, revenue Map(String, String), sessions Int64, bounces Int64, durationMs Int64',
  'metrics-events-rows':
    'edge Int64, visitorHashes Array(UInt64), screenViews Int64, revenue Map(String, String)',
  'metrics-sessions-rows': 'edge Int64, sessions Int64, bounces Int64, durationMs Int64',
  'metrics-filtered':
    'isCurrent UInt8, isTotal UInt64, edge Int64, visitors UInt64, screenViews Int64, revenue Map(String, String), sessions Int64, bounces Int64, durationMs Int64',
  'metrics-filtered-visitors':
    'edge Int64, visitorHashes Array(UInt64), screenViews Int64, revenue Map(String, String), sessions Int64, bounces Int64, durationMs Int64',
  'metrics-finalized':
    'isTotal UInt64, edge Int64, screenViews Int64, revenue Map(String, String), sessions Int64, bounces Int64, durationMs Int64, visitors UInt64, hashes String',
  'metrics-counted':
    'isTotal UInt64, edge Int64, visitors UInt64, hashes String, screenViews Int64, revenue Map(String, String), sessions Int64, bounces Int64, durationMs Int64',
  'metrics-members': 'edge Int64, visitorHashes Array(UInt64)',
  'metrics-conversions': 'isCurrent UInt8, isTotal UInt64, edge Int64, conversions Int64, visitors UInt64',
  'group-types': 'type String, groups UInt64',
  'group-list':
    'id String, isOnlyAssigned UInt8, type String, name String, properties Map(String, String), createdMs Int64, updatedMs Int64, members UInt64',
  'group-members': 'id String, firstName String, lastName String, email String, avatar String',
  'group-members-total': 'members UInt64',
  'group-events': 'events UInt64, screenViews UInt64, activeMembers UInt64, revenue Map(String, String)',
  'group-sessions': 'sessions Int64, members Nullable(UInt64)',
  'event-names': 'word LowCardinality(String), events UInt64',
  'event-names-rollup': 'word LowCardinality(String), events UInt64',
  'event-total-rollup': 'events UInt64',
  pages:
    'origin LowCardinality(String), path LowCardinality(String), title String, sessions UInt64, pageviews UInt64, visitors UInt64, revenue String, entries Int64, bounces Int64, durationMs Int64',
  'pages-filtered':
    'origin LowCardinality(String), path LowCardinality(String), sessions UInt64, pageviews UInt64, visitors UInt64, revenue String, entries Int64, bounces Int64, durationMs Int64',
  'pages-rollup':
    'isNamed UInt8, origin String, path String, title String, sessions UInt64, sessionsMax UInt64, pageviews UInt64, visitors UInt64, revenue String, entries Int64, bounces Int64, durationMs Int64',
  'pages-candidates': 'path LowCardinality(String), bound UInt64',
  'pages-finalized':
    'origin LowCardinality(String), path LowCardinality(String), titleAt UInt32, title String, pageviews UInt64, revenue String, entries Int64, bounces Int64, durationMs Int64, sessionsWithin UInt64, reaching UInt64, visitors UInt64, isCached UInt8, sessionHashes String, visitorHashes String',
  'pages-counted':
    'origin LowCardinality(String), path LowCardinality(String), titleAt UInt32, title String, pageviews UInt64, revenue String, entries Int64, bounces Int64, durationMs Int64, sessionsWithin UInt64, reaching UInt64, visitors UInt64',
  'pages-members':
    'origin LowCardinality(String), path LowCardinality(String), isVisitor UInt8, found Array(UInt64)',
  'pages-rows':
    'isNamed UInt8, origin String, path String, titleAt UInt32, title String, pageviews UInt64, revenue String, sessionsMax UInt64, sessionHashes Array(UInt64), visitorHashes Array(UInt64)',
  'pages-entered':
    'origin LowCardinality(String), path LowCardinality(String), entries Int64, bounces Int64, durationMs Int64',
  'pages-filtered-counted':
    'origin LowCardinality(String), path LowCardinality(String), sessions UInt64, pageviews UInt64, visitors UInt64, revenue String, sessionHashes Array(UInt64), visitorHashes Array(UInt64)',
  'pages-filtered-rows':
    'origin LowCardinality(String), path LowCardinality(String), pageviews UInt64, revenue String, sessionHashes Array(UInt64), visitorHashes Array(UInt64)',
  'pages-filtered-members':
    'origin LowCardinality(String), path LowCardinality(String), isVisitor UInt8, found Array(UInt64)',
  'page-titles': 'origin LowCardinality(String), path LowCardinality(String), lastTitle String',
  'page-titles-rows':
    'origin LowCardinality(String), path LowCardinality(String), lastTitle String, titledAt UInt32',
  'page-titles-finalized':
    'origin LowCardinality(String), path LowCardinality(String), titledAt UInt32, lastTitle String',
  'page-conversions':
    'prefix LowCardinality(String), name LowCardinality(String), conversions UInt64, visitors UInt64',
  'search-console-series': 'day Date, clickCount UInt64, impressionCount UInt64, positionSum Float64',
  'search-console-ranking': 'word String, clickCount UInt64, impressionCount UInt64, positionSum Float64',
  'search-console-opportunities':
    'word String, clickCount UInt64, impressionCount UInt64, positionSum Float64',
  'search-console-cannibalization':
    'word String, impressionCount UInt64, clickCount UInt64, total UInt64, places Array(Tuple(String, Int64, Int64, Float64))',
  breakdown:
    'prefix String, name LowCardinality(String), sessions Int64, bounces Int64, durationMs Int64, pageviews Int64, visitors UInt64, revenue String',
  'entry-exit':
    'prefix String, name LowCardinality(String), sessions Int64, bounces Int64, durationMs Int64, pageviews Int64, visitors UInt64, revenue String',
  'breakdown-rollup':
    'prefix String, name LowCardinality(String), sessions Int64, bounces Int64, durationMs Int64, pageviews Int64, visitors UInt64, revenue String',
  'ranking-rows':
    'prefix String, name LowCardinality(String), sessions Int64, bounces Int64, durationMs Int64, pageviews Int64, visitorHashes Array(UInt64), revenue String',
  'ranking-finalized':
    'prefix String, name LowCardinality(String), sessions Int64, bounces Int64, durationMs Int64, pageviews Int64, revenue String',
  'ranking-rollup':
    'prefix String, name LowCardinality(String), sessions Int64, bounces Int64, durationMs Int64, pageviews Int64, revenue String',
  'ranking-visitors': 'prefix String, name LowCardinality(String), visitors UInt64, found Array(UInt64)',
  'ranking-visitors-rollup':
    'prefix String, name LowCardinality(String), visitors UInt64, found Array(UInt64)',
  conversions: 'prefix String, name LowCardinality(String), conversions Int64, visitors UInt64',
  'active-users': 'day UInt16, daysUntilNext Int32, visitors UInt64',
  'active-users-rollup': 'day UInt16, daysUntilNext Int32, visitors UInt64',
  'active-users-finalized': 'day UInt16, daysUntilNext Int32, visitors UInt64',
  'active-users-members': 'visitor UInt64, days Array(UInt16)',
  'active-users-filtered': 'day UInt16, daysUntilNext Int32, visitors UInt64',
  'active-users-filtered-members': 'visitor UInt64, days Array(UInt16)',
};
