import { leadingNumbers } from './user-agent-version.ts';

/**
 * Recognizes browsers. A user agent names nearly all of a browser's ancestors, so the order of the tables matters, from specific names to
 * general ones: apps with a built-in browser, then browsers built on another one, then the large ones, then bare engines.
 *
 * ua-parser-js was rejected here: it takes some in-app browsers, such as Pinterest's and TikTok's, for the engine below them, and its names
 * differ from the ones that analytics users know (`IE`, `GSA`).
 *
 * Every pattern is a fixed text with at most one run of a version behind it, so that a search takes time proportional to the text, whatever
 * a client sends.
 */
export interface Browser {
  /** One name per product on every device: `Safari` and `Chrome` on phones, too. Empty when unknown. */
  readonly name: string;
  /** The first two numbers, if there are two. */
  readonly version: string;
}

/** A name, the pattern of its user agents, and the pattern of the version when it does not follow the name. */
type Signature = readonly [name: string, pattern: RegExp, version?: RegExp];

const NO_BROWSER: Browser = { name: '', version: '' };
const VERSION = /\bVersion\/([\d.]+)/;
const FACEBOOK_VERSION = /\bFBAV\/([\d.]+)/;

/** Browsers of consoles, televisions and headsets, whose user agents imitate many others. */
const DEVICE_BROWSERS: readonly Signature[] = [
  ['PlayStation Browser', /\bPlayStation\b/i, /$^/],
  ['Nintendo Browser', /\bNintendoBrowser\/([\d.]+)/],
  ['Nintendo Browser', /\bNintendo (?:3DS|DSi|Wii)/, VERSION],
  ['Oculus Browser', /\bOculusBrowser\/([\d.]+)/],
  ['Wolvic', /\bWolvic\/([\d.]+)/],
  ['Pico Browser', /\bPicoBrowser\/([\d.]+)/],
  ['LG Browser', /\bLG Browser\/([\d.]+)/],
];

const APPS: readonly Signature[] = [
  ['Messenger', /\bFBAN\/Messenger|\bFB_IAB\/(?:Orca|MESSENGER)/, FACEBOOK_VERSION],
  ['Facebook', /\bFBA[NV]\/|\bFB_IAB\/|\bMetaIAB Facebook\b/, FACEBOOK_VERSION],
  ['Threads', /\bBarcelona ([\d.]+)/],
  ['Instagram', /\bInstagram[ /]([\d.]+)/],
  ['TikTok', /\bmusical_ly_(\d{1,3}\.[\d.]+)/],
  ['TikTok', /\bmusical_ly|\btrill_\d|\bTikTok\b/, /\bapp_version\/([\d.]+)/],
  ['WeChat', /\bMicroMessenger\/([\d.]+)/],
  ['QQ', / QQ\/([\d.]+)/],
  ['Weibo', /\b__weibo__([\d.]+)/],
  ['LINE', / Line\/([\d.]+)/],
  ['KakaoTalk', /\bKAKAOTALK[ /]([\d.]+)/],
  ['NAVER', /\bNAVER\(inapp; search; \d+; ([\d.]+)/],
  ['Snapchat', /\bSnapchat[ /]?([\d.]+)/],
  ['Pinterest', /\[Pinterest\/(?:iOS|Android)\]|\bPinterest for /, /\bPinterest for \w+\/([\d.]+)/],
  ['LinkedIn', /\bLinkedInApp\]?(?:\/([\d.]+))?/],
  ['X', /\bTwitter for (?:iPhone|iPad|Android)(?:\/([\d.]+))?/],
  ['X', /\bTwitterAndroid\b/],
  ['Telegram', /\bTelegram-Android\/([\d.]+)/],
  ['Reddit', /\bReddit\/(?:Version )?([\d.]+)/],
  ['Alipay', /\bAlipayClient\/([\d.]+)/],
  ['Baidu', /\bbaiduboxapp\/([\d.]+)/],
  ['Baidu', /\b(?:BIDUBrowser|baidubrowser|FlyFlow)[ /]([\d.]+)/],
  ['Gemini', /\bGeminiiOS\/([\d.]+)/],
  ['Google App', /\bGSA\/([\d.]+)/],
];

const BUILT_ON_OTHERS: readonly Signature[] = [
  ['Samsung Internet', /\bSamsungBrowser\/([\d.]+)/],
  ['Huawei Browser', /\bHuaweiBrowser\/([\d.]+)/],
  ['MIUI Browser', /\bMiuiBrowser\/([\d.]+)/],
  ['HeyTap Browser', /\bHeyTapBrowser\/([\d.]+)/],
  ['Vivo Browser', /\bVivoBrowser\/([\d.]+)/],
  ['Amazon Silk', /\bSilk\/([\d.]+)/],
  ['DuckDuckGo', /\b(?:DuckDuckGo|Ddg)\/([\d.]+)/],
  ['Ecosia', /\(Ecosia \w+@([\d.]+)/],
  ['Brave', /\bBrave\/([\d.]+)/],
  ['Brave', / Brave$/, VERSION],
  ['Yandex Browser', /\bYaBrowser\/([\d.]+)/],
  ['UC Browser', /\bUC ?Browser\/?([\d.]+)/],
  ['UC Browser', /\bUCWEB\/?([\d.]+)/],
  ['QQ Browser', /QQBrowser\/([\d.]+)/],
  ['Quark', /\bQuark\/([\d.]+)/],
  ['Sogou Browser', /\b(?:SogouMobileBrowser|SE) ?\/?([\d.]+)(?:X MetaSr)?/],
  ['360 Browser', /\b(?:QihooBrowser|QHBrowser|360SE|360EE)\b\/?([\d.]*)/],
  ['2345 Explorer', /\b2345Explorer[ /]([\d.]+)/],
  ['Maxthon', /\b(?:Maxthon|MAXTHON|MxBrowser|MXBrowser)[ /]([\d.]+)/],
  ['Opera GX', /\bOPX\/([\d.]+)/],
  ['Opera Mini', /\bOpera Mini\/([\d.]+)/],
  ['Opera Mini', /\bOPiOS\/([\d.]+)/],
  ['Opera', /\b(?:OPR|OPT)\/([\d.]+)/],
  ['Opera', /^Opera[ /]9\.80/, VERSION],
  ['Opera', /\bOpera[ /]([\d.]+)/],
  ['Vivaldi', /\bVivaldi\/([\d.]+)/],
  ['Whale', /\bWhale\/([\d.]+)/],
  ['Coc Coc', /\bcoc_coc_browser\/([\d.]+)/],
  ['CoolNovo', /\bCoolNovo\/([\d.]+)/],
  ['Iron', /\bIron\/([\d.]+)/],
  ['Comodo Dragon', /\bComodo_Dragon\/([\d.]+)/],
  ['Avast Secure Browser', /\bAvast\/([\d.]+)/],
  ['AVG Secure Browser', /\bAVG\/([\d.]+)/],
  ['Puffin', /\bPuffin\/([\d.]+)/],
  ['Aloha', /\bAlohaBrowser\/([\d.]+)/],
  ['Seznam', /\bSznProhlizec\/([\d.]+)/],
  ['Sleipnir', /\bSleipnir[ /]([\d.]+)/],
  ['AOL', /; AOL ([\d.]+)/],
  ['Falkon', /\b(?:Falkon|QupZilla)\/([\d.]+)/],
  ['qutebrowser', /\bqutebrowser\/([\d.]+)/],
  ['Konqueror', /\bkonqueror\/([\d.]+)/i],
  ['Epiphany', /\bEpiphany\/([\d.]+)/],
  ['Midori', /\bMidori\/([\d.]+)/],
  ['SeaMonkey', /\bSeaMonkey\/([\d.]+)/],
  ['Pale Moon', /\bPaleMoon\/([\d.]+)/],
  ['Waterfox', /\bWaterfox\/([\d.]+)/],
  ['Basilisk', /\bBasilisk\/([\d.]+)/],
  ['K-Meleon', /\bK-Meleon\/([\d.]+)/],
  ['Iceweasel', /\bIceweasel\/([\d.]+)/],
  ['IceCat', /\bIceCat\/([\d.]+)/],
  ['Camino', /\bCamino\/([\d.]+)/],
  ['Conkeror', /\bconkeror\/([\d.]+)/i],
  ['Firefox Focus', /\b(?:Focus|Klar)\/([\d.]+)/],
  ['Electron', /\bElectron\/([\d.]+)/],
];

const LARGE: readonly Signature[] = [
  ['Edge', /\b(?:Edge|Edg|EdgA|EdgiOS)\/([\d.]+)/],
  ['Chrome', /\bCriOS\/([\d.]+)/],
  ['Firefox', /\bFxiOS\/([\d.]+)/],
  ['Internet Explorer', /\bIEMobile[ /]([\d.]+)/],
  ['Internet Explorer', /\bTrident\/7\.[\d.]+;/, /\brv:([\d.]+)/],
  ['Internet Explorer', /\bMSIE ([\d.]+)/],
  ['Chrome WebView', /; wv\)/, /\bChrome\/([\d.]+)/],
  ['Chrome WebView', /\bVersion\/4\.0 Chrome\/([\d.]+)/],
  ['ArkWeb', /\bArkWeb\/([\d.]+)/],
  ['Chromium', /\bChromium\/([\d.]+)/],
  ['Chrome', /\b(?:Chrome|HeadlessChrome)\/([\d.]+)/],
  ['Firefox', /\b(?:Firefox|Fennec)\/([\d.]+)/],
  ['BlackBerry Browser', /\b(?:BlackBerry|BB10|PlayBook)\b/, VERSION],
  ['Kindle', /\bKindle\/([\d.]+)/],
  ['Nokia Browser', /\b(?:BrowserNG|NokiaBrowser)\/([\d.]+)/],
  ['UP.Browser', /\bUP\.Browser\/([\d.]+)/],
  ['NetFront', /\bNetFront\/([\d.]+)/],
  ['Dolfin', /\bDolfin\/([\d.]+)/],
  ['Links', /^Links \(([\d.]+)/],
  ['Lynx', /^Lynx\/([\d.]+)/],
  ['w3m', /^w3m\/([\d.]+)/],
];

const APPLE_OR_WINDOWS = /\b(?:iPhone|iPad|iPod|Macintosh|Windows|Apple TV)\b/;

export function browserOf(userAgent: string): Browser {
  return (
    signed(userAgent, DEVICE_BROWSERS) ??
    signed(userAgent, APPS) ??
    signed(userAgent, BUILT_ON_OTHERS) ??
    signed(userAgent, LARGE) ??
    ofEngine(userAgent)
  );
}

function signed(userAgent: string, signatures: readonly Signature[]): Browser | undefined {
  for (const [name, pattern, versionPattern] of signatures) {
    const match = pattern.exec(userAgent);
    if (match === null) continue;
    const version = versionPattern === undefined ? match[1] : versionPattern.exec(userAgent)?.[1];
    return { name, version: leadingNumbers(version ?? '', 2) };
  }
  return undefined;
}

/** The fallback by engine: Safari, Android's old browser, a web view, or a shell around WebKit. */
function ofEngine(userAgent: string): Browser {
  if (!userAgent.includes('AppleWebKit')) return NO_BROWSER;
  const version = leadingNumbers(VERSION.exec(userAgent)?.[1] ?? '', 2);
  if (userAgent.includes('Android')) return { name: 'Android Browser', version };
  // Safari sends `Version/`. The oldest versions sent only `Safari/`, as shells on other systems still do.
  if (APPLE_OR_WINDOWS.test(userAgent)) {
    if (version !== '' || userAgent.includes('Safari/')) return { name: 'Safari', version };
    return { name: 'Safari WebView', version: '' };
  }
  return { name: 'WebKit', version: '' };
}
