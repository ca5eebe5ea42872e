import { createHmac, timingSafeEqual } from 'node:crypto';
import { getMediaStore } from '../../gateways/media/configuredStore.ts';
import { getImageName, getImagePath, getOriginalPath } from '../../gateways/media/inputImages.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';
import type { Upload } from '../../tables/Upload.ts';

/**
 * Addresses that allow one request for one file until they expire: of the bucket, or of this service if files are on
 * disk. They need no other credential.
 */

/** Last part of the address that receives the file of an upload. */
export const ORIGINAL_FILE = 'original';

/** A request that a client sends to upload a file. */
export interface UploadTarget {
  url: string;
  headers: Record<string, string>;
}

/** Builds the address that receives the file of an upload, with the headers that the request must carry. */
export async function buildUploadTarget(upload: Upload, expiresAt: Date): Promise<UploadTarget> {
  const { presign } = getMediaStore();
  const headers = { 'content-type': upload.content_type };
  if (presign === null) return { url: buildSignedUrl('PUT', upload.uuid, ORIGINAL_FILE, expiresAt), headers };
  const path = getOriginalPath(upload.media_token);
  // HTTP clients send the length by themselves, and many do not allow to set it.
  const file = { contentType: upload.content_type, bytes: upload.bytes };
  return { url: await presign({ path, upload: file, expiresInSeconds: secondsUntil(expiresAt) }), headers };
}

/** Builds the address from which an upstream reads an image. */
export async function buildImageUrl(
  { uuid, media_token: token, content_type: contentType }: Pick<Upload, 'uuid' | 'media_token' | 'content_type'>,
  expiresAt: Date,
): Promise<string> {
  const { presign } = getMediaStore();
  if (presign === null) return buildSignedUrl('GET', uuid, getImageName(contentType), expiresAt);
  const path = getImagePath(token, contentType);
  return presign({ path, expiresInSeconds: secondsUntil(expiresAt) });
}

/** A request for a file with a signature in its address. */
export interface SignedFileRequest {
  method: 'GET' | 'PUT';
  uuid: string;
  file: string;
  /** Query parameters as they were received. */
  expires: unknown;
  signature: unknown;
}

/** Returns true if this service has signed the address of a request, and it has not expired. */
export function isSignedRequest({ method, uuid, file, expires, signature }: SignedFileRequest): boolean {
  if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires) || Number(expires) * 1_000 <= now().getTime())
    return false;
  if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return false;
  return timingSafeEqual(sign(method, uuid, file, expires), Buffer.from(signature, 'base64url'));
}

function buildSignedUrl(method: 'GET' | 'PUT', uuid: string, file: string, expiresAt: Date): string {
  const expires = String(Math.ceil(expiresAt.getTime() / 1_000));
  const signature = sign(method, uuid, file, expires).toString('base64url');
  return `${config.BASE_URL}/uploads/${uuid}/${file}?expires=${expires}&signature=${signature}`;
}

function sign(method: string, uuid: string, file: string, expires: string): Buffer {
  return createHmac('sha256', getServerSecret()).update(`upload ${method} ${uuid} ${file} ${expires}`).digest();
}

/** Seconds for a signature of the bucket, which is valid from now on. */
function secondsUntil(expiresAt: Date): number {
  return Math.max(1, Math.ceil((expiresAt.getTime() - now().getTime()) / 1_000));
}
