import type { Examples } from './example.ts';

/** The conditions of a stream; the response is a file. */
const query = { projectId: 'demo', start: '2026-01-05', end: '2026-01-05', event: ['signup', 'revenue'] };

const row =
  '{"id":"5f1d0c2be9a84f6d8a1b2c3d4e5f6071","name":"signup","deviceId":"9b2d41f07a6c4e5f8d3b2a1908f7e6d5","profileId":"user-1","sessionId":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","projectId":"demo","createdAt":"2026-01-05T09:15:00.000Z","path":"/pricing","origin":"https://shop.example","title":"Pricing","country":"DE","city":"Berlin","os":"Linux","browser":"Firefox","device":"desktop","groups":[]}\n';

/** Examples for exports without pages. */
export const STREAM_EXAMPLES: Examples = {
  'get /export/events.ndjson': { query, answer: row },
  'get /export/events.csv': {
    query: {
      ...query,
      limit: '1',
      cursor: '2026-01-05T09:15:00.000Z_0a1b2c3d4e5f60718293a4b5c6d7e8f9_5f1d0c2be9a84f6d8a1b2c3d4e5f6071',
    },
    answer:
      '"id","name","deviceId","profileId","sessionId","projectId","createdAt","path","origin","title","country","city","os","browser","device","groups"\n"6a2e1d3cf0b95a7e9b2c3d4e5f607182","revenue","9b2d41f07a6c4e5f8d3b2a1908f7e6d5","user-1","0a1b2c3d4e5f60718293a4b5c6d7e8f9","demo","2026-01-05T09:16:30.000Z","/paid","https://shop.example","Paid","DE","Berlin","Linux","Firefox","desktop","[]"\n',
  },
  // Every Parquet file starts and ends with these bytes.
  'get /export/events.parquet': {
    query: { ...query, includes: 'properties,revenue' },
    answer: 'PAR1 … PAR1',
  },
};
