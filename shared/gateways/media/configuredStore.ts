import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { diskStore } from './diskStore.ts';
import type { MediaStore } from './mediaStore.ts';
import { s3Store } from './s3Store.ts';

/** Returns the store of this installation: a bucket if one is configured, otherwise the local disk. */
export const getMediaStore = perService(
  (): MediaStore =>
    config.MEDIA_S3_BUCKET === undefined
      ? diskStore(config.MEDIA_DIR)
      : s3Store({
          bucket: config.MEDIA_S3_BUCKET,
          endpoint: config.MEDIA_S3_ENDPOINT,
          region: config.MEDIA_S3_REGION,
          accessKeyId: config.MEDIA_S3_ACCESS_KEY_ID,
          secretAccessKey: config.MEDIA_S3_SECRET_ACCESS_KEY,
          prefix: config.MEDIA_S3_PREFIX,
        }),
  (store) => store.close(),
);

/** Returns `ab/cdef…`: 122 random bits, which cannot be guessed, spread over 256 folders. */
export function getMediaFolder(mediaToken: string): string {
  const hex = mediaToken.replaceAll('-', '');
  return `${hex.slice(0, 2)}/${hex.slice(2)}`;
}
