import { describe, expect, test } from 'vitest';
import type { ClickTarget } from './browser.ts';
import { readClick } from './page-watch.ts';

type Read = [feature: string, name: string, properties: object];

function read(button: number, ...targets: ClickTarget[]): Read[] {
  const all: Read[] = [];
  readClick({ button, composedPath: () => targets }, 'shop.example', (...said) => void all.push(said));
  return all;
}

const text = { dataset: {} };
const page: ClickTarget[] = [{ dataset: {} }, {}, {}];
const outside = {
  href: 'https://other.example/a?b#c',
  protocol: 'https:',
  hostname: 'other.example',
  innerText: 'Other',
  dataset: {},
};

describe('a click on a link', () => {
  test('to another host is an outgoing link, with the left and the middle button', () => {
    const said: Read = ['outgoingLinks', 'link_out', { href: outside.href, text: 'Other' }];
    expect(read(0, text, outside, ...page)).toEqual([said]);
    expect(read(1, text, outside, ...page)).toEqual([said]);
    expect(read(2, text, outside, ...page)).toEqual([]);
  });

  test.each([
    ['to the same host', { ...outside, hostname: 'shop.example' }],
    ['of another scheme', { ...outside, protocol: 'ftp:', href: 'ftp://other.example' }],
    ['to an address of mail', { href: 'mailto:a@other.example', protocol: 'mailto:', hostname: '' }],
  ])('%s is none', (_name, link) => {
    expect(read(0, link, ...page)).toEqual([]);
  });

  test('without a text is named by its title, then by the picture in it', () => {
    const bare = { ...outside, innerText: '' };
    const textIn = (...targets: ClickTarget[]) => read(0, ...targets)[0]?.[2];
    expect(textIn({ alt: 'Picture' }, { ...bare, title: 'Title' })).toMatchObject({ text: 'Title' });
    expect(textIn({ alt: 'Picture' }, bare)).toMatchObject({ text: 'Picture' });
    expect(textIn(bare)).toMatchObject({ text: '' });
  });

  test('with a long text is cut between characters', () => {
    const [said] = read(0, { ...outside, innerText: '😀'.repeat(300) });
    expect(said?.[2]).toMatchObject({ text: '😀'.repeat(200) });
  });
});

describe('a click on something with data-track', () => {
  const button = { dataset: { track: 'sign_up', plan: 'pro', priceList: '7' } };
  const said: Read = ['attributes', 'sign_up', { plan: 'pro', priceList: '7' }];

  test('is the event that it names, with the other data attributes', () => {
    expect(read(0, text, button, ...page)).toEqual([said]);
  });

  test('means nothing with the middle button, unless it is a link', () => {
    expect(read(1, button, ...page)).toEqual([]);
    expect(read(1, button, { ...outside, hostname: 'shop.example' }, ...page)).toEqual([said]);
  });

  test('counts the innermost, and both when it is an outgoing link', () => {
    const inner = { dataset: { track: 'inner' } };
    expect(read(0, inner, button, outside)).toEqual([
      ['outgoingLinks', 'link_out', { href: outside.href, text: 'Other' }],
      ['attributes', 'inner', {}],
    ]);
    expect(read(0, { dataset: { track: '' } }, ...page)).toEqual([]);
  });
});
