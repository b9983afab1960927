import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { emptyRows, endRow } from './batch.ts';
import { rowsBySite } from './rows-by-site.ts';

test('the rows of each site lie together in their order, and none is missing', () => {
  const rows = fc.array(fc.record({ site: fc.nat(4), text: fc.string({ maxLength: 5 }) }));
  fc.assert(
    fc.property(rows, (written) => {
      const all = emptyRows();
      for (const { site, text } of written) {
        all.writer.raw(Buffer.from(text));
        endRow(all, site);
      }
      const { bytes, sites } = rowsBySite(all, (site) => storedId(`site ${site}`));
      const found = sites.map(
        ({ projectId, start, end }) =>
          [projectId, Buffer.from(bytes).subarray(start, end).toString()] as const,
      );
      const expected = new Map<string, string>();
      for (const { site, text } of written)
        expected.set(`site ${site}`, (expected.get(`site ${site}`) ?? '') + text);
      expect(found).toEqual([...expected]);
      expect(bytes.byteLength).toBe(all.writer.length);
    }),
  );
});
