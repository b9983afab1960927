import { keyOf, textOf } from './listing.ts';

/** A part of an upload as the storage has it. */
export interface UploadedPart {
  /** From 1. */
  readonly number: number;
  /** The storage's tag of its bytes, as it was answered. */
  readonly tag: string;
}

/** An upload that was begun, and neither completed nor removed. */
export interface OpenUpload {
  readonly key: string;
  readonly uploadId: string;
}

const UPLOAD = '<Upload>';
const UPLOAD_END = '</Upload>';

/** The id of a new upload; undefined for any other answer. */
export function readUploadId(xml: string): string | undefined {
  const id = xml.includes('<InitiateMultipartUploadResult') ? textOf(xml, 'UploadId') : undefined;
  return id === '' ? undefined : id;
}

/** True if the storage has put the parts together. It also answers 200 where it failed to. */
export function isCompleted(xml: string): boolean {
  return xml.includes('<CompleteMultipartUploadResult');
}

/** The list of parts that completes an upload. */
export function completionOf(parts: readonly UploadedPart[]): string {
  const listed = parts.map(
    ({ number, tag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`;
}

/** The uploads of one page of a list; undefined for any other answer. */
export function readUploads(xml: string): OpenUpload[] | undefined {
  if (!xml.includes('<ListMultipartUploadsResult')) return undefined;
  const isEncoded = textOf(xml, 'EncodingType') === 'url';
  const uploads: OpenUpload[] = [];
  for (let start = xml.indexOf(UPLOAD); start !== -1; ) {
    const end = xml.indexOf(UPLOAD_END, start);
    const element = end === -1 ? '' : xml.slice(start, end);
    const key = keyOf(textOf(element, 'Key'), isEncoded);
    const uploadId = textOf(element, 'UploadId');
    if (key === undefined || uploadId === undefined) return undefined;
    uploads.push({ key, uploadId });
    start = xml.indexOf(UPLOAD, end);
  }
  return uploads;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
