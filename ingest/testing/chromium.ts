import { findProgram } from '../../infra/testing/debian-program.ts';

/** The path of a Chromium; undefined when there is none and browser tests are skipped. */
export function findChromium(): Promise<string | undefined> {
  return findProgram({
    variable: 'CHROMIUM',
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    packageName: 'chromium',
  });
}
