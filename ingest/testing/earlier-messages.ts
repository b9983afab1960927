/**
 * A message as a collector of version 2 wrote it: a screen view and, a second later, revenue of the same session. Its
 * rows have no language, time zone and screen.
 */
export function messageOfVersion2(): Buffer {
  return Buffer.from(
    'AgcAAAAAAAAAAAAAAAAA8D8AAAQAIt94QgIAAADgAAAAAwAABAAi33hCAAAEACLfeEL/////////////////////BGRlbW8gMDEy' +
      'MzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYFcMOkdWwAAAAAAAAAAAAAAAtzY3JlZW5fdmlld0AAIPKNAQAAQAAg8o0BAAAT' +
      'aHR0cHM6Ly9leGFtcGxlLm9yZwIvYQAAAUEAAAAAAAAAAAACREUGQmF5ZXJuCE3DvG5jaGVuAAA4QQAAQUIHRmlyZWZveAUxMjcu' +
      'MAVMaW51eAAHZGVza3RvcAAAAQFnAQFrAXYDd2ViATHRAAAACgCAQgAi33hCAIBCACLfeEL/////////////////////BGRlbW8g' +
      'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYAAGMAAAAAAAAAA0VVUgNvLTEHcmV2ZW51ZSgEIPKNAQAAKAQg8o0BAAAT' +
      'aHR0cHM6Ly9leGFtcGxlLm9yZwEvAAAAAAAAAAAAAAAAAkRFBkJheWVybghNw7xuY2hlbgAAOEEAAEFCB0ZpcmVmb3gFMTI3LjAF' +
      'TGludXgAB2Rlc2t0b3AAAAAAAAA=',
    'base64',
  );
}
