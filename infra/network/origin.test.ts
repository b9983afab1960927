import { expect, test } from 'vitest';
import { originAllowed } from './origin.ts';

test.each<[string[], string, boolean]>([
  [['*'], 'https://any.example', true],
  [['*'], 'null', true],
  [['*'], '', false],
  [['https://shop.example'], 'https://shop.example', true],
  [['https://www.shop.example/'], 'http://shop.example', true],
  [['shop.example'], 'https://WWW.Shop.Example', true],
  [['shop.example'], 'https://evilshop.example', false],
  [['shop.example'], 'https://shop.example.evil.example', false],
  [['shop.example'], 'https://sub.shop.example', false],
  [['*.shop.example'], 'https://sub.shop.example', true],
  [['*.shop.example'], 'https://a.b.shop.example', true],
  [['*.shop.example'], 'https://shop.example', false],
  [['*.shop.example'], 'https://evilshop.example', false],
  [['http://localhost:3000'], 'http://localhost:3000', true],
  [['http://localhost:3000'], 'http://localhost:4000', false],
  [[], 'https://shop.example', false],
  [[''], 'https://', false],
])('entries %j and origin %j: %j', (entries, origin, allowed) => {
  expect(originAllowed(entries, origin)).toBe(allowed);
});
