import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { EntityDocument } from './document.ts';
import { GROUP_COLUMNS, GROUP_SELECT, groupOf, writeGroupRow } from './group.ts';
import { ORDER_COLUMNS, ORDER_SELECT, orderOf, writeOrderRow } from './order.ts';
import { PROFILE_COLUMNS, PROFILE_SELECT, profileOf, writeProfileRow } from './profile.ts';
import { TALLY_COLUMNS, TALLY_SELECT, tallyOf, writeTallyRow } from './tally.ts';

/** The table of the entities of one kind, and how they are written and read. */
export interface EntityTable {
  readonly kind: EntityDocument['kind'];
  readonly name: string;
  readonly columns: readonly string[];
  readonly select: string;
  /** Appends the rows of the documents of this kind. */
  readonly write: (writer: RowBinaryWriter, documents: readonly EntityDocument[]) => void;
  readonly read: (row: unknown) => EntityDocument;
}

export const ENTITY_TABLES: readonly EntityTable[] = [
  {
    kind: 'profile',
    name: 'profiles',
    columns: PROFILE_COLUMNS,
    select: PROFILE_SELECT,
    write: (writer, documents) => {
      for (const document of documents) if (document.kind === 'profile') writeProfileRow(writer, document);
    },
    read: profileOf,
  },
  {
    kind: 'group',
    name: 'groups',
    columns: GROUP_COLUMNS,
    select: GROUP_SELECT,
    write: (writer, documents) => {
      for (const document of documents) if (document.kind === 'group') writeGroupRow(writer, document);
    },
    read: groupOf,
  },
  {
    kind: 'order',
    name: 'orders',
    columns: ORDER_COLUMNS,
    select: ORDER_SELECT,
    write: (writer, documents) => {
      for (const document of documents) if (document.kind === 'order') writeOrderRow(writer, document);
    },
    read: orderOf,
  },
  {
    kind: 'tally',
    name: 'tallies',
    columns: TALLY_COLUMNS,
    select: TALLY_SELECT,
    write: (writer, documents) => {
      for (const document of documents) if (document.kind === 'tally') writeTallyRow(writer, document);
    },
    read: tallyOf,
  },
];
