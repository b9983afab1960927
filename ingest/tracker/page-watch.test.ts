import { describe, expect, test } from 'vitest';
import type { ClickTarget } from './browser.ts';
import { readClick } from './page-watch.ts';

type Read = [feature: string, name: string, properties: object];

function read(button: number, ...targets: ClickTarget[]): Read[] {
  const all: Read[] = [];
  readClick({ button, composedPath: () => targets }, 'shop.example', (...event) => void all.push(event));
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
    const event: Read = ['outgoingLinks', 'link_out', { href: outside.href, text: 'Other' }];
    expect(read(0, text, outside, ...page)).toEqual([event]);
    expect(read(1, text, outside, ...page)).toEqual([event]);
    expect(read(2, text, outside, ...page)).toEqual([]);
  });

  test.each([
    ['to the same host', { ...outside, hostname: 'shop.example' }],
    ['of another scheme', { ...outside, protocol: 'ftp:', href: 'ftp://other.example' }],
    ['to a mail address', { href: 'mailto:a@other.example', protocol: 'mailto:', hostname: '' }],
  ])('%s is not an outgoing link', (_name, link) => {
    expect(read(0, link, ...page)).toEqual([]);
  });

  test('without text is named by its title, or else by the alternative text of its image', () => {
    const bare = { ...outside, innerText: '' };
    const textIn = (...targets: ClickTarget[]) => read(0, ...targets)[0]?.[2];
    expect(textIn({ alt: 'Picture' }, { ...bare, title: 'Title' })).toMatchObject({ text: 'Title' });
    expect(textIn({ alt: 'Picture' }, bare)).toMatchObject({ text: 'Picture' });
    expect(textIn(bare)).toMatchObject({ text: '' });
  });

  test('with a long text is cut between characters', () => {
    const [event] = read(0, { ...outside, innerText: '😀'.repeat(300) });
    expect(event?.[2]).toMatchObject({ text: '😀'.repeat(200) });
  });
});

describe('a click on an element with data-track', () => {
  const button = { dataset: { track: 'sign_up', plan: 'pro', priceList: '7' } };
  const event: Read = ['attributes', 'sign_up', { plan: 'pro', priceList: '7' }];

  test('is an event of that name, with the other data attributes as properties', () => {
    expect(read(0, text, button, ...page)).toEqual([event]);
  });

  test('with the middle button counts only on a link', () => {
    expect(read(1, button, ...page)).toEqual([]);
    expect(read(1, button, { ...outside, hostname: 'shop.example' }, ...page)).toEqual([event]);
  });

  test('counts the innermost element, and the link as well when it is outgoing', () => {
    const inner = { dataset: { track: 'inner' } };
    expect(read(0, inner, button, outside)).toEqual([
      ['outgoingLinks', 'link_out', { href: outside.href, text: 'Other' }],
      ['attributes', 'inner', {}],
    ]);
    expect(read(0, { dataset: { track: '' } }, ...page)).toEqual([]);
  });
});
