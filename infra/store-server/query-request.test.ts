import { expect, test } from 'vitest';
import { addField, type QueryFields } from './query-request.ts';

test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'the name %s is a setting like any other',
  (name) => {
    const fields: QueryFields = { settings: new Map(), parameters: new Map() };
    addField(fields, name, '1');
    addField(fields, `param_${name}`, '2');
    expect([...fields.settings]).toEqual([[name, '1']]);
    expect([...fields.parameters]).toEqual([[name, '2']]);
  },
);
