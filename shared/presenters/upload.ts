import Type, { type Static } from 'typebox';
import { IMAGE_CONTENT_TYPES } from '../gateways/media/inputImages.ts';
import type { Upload } from '../tables/Upload.ts';
import { countOrNull, presentAs, textOrNull, Timestamp, Uuid } from './fields.ts';

export const UploadResponse = Type.Object({
  uuid: Uuid,
  status: Type.Enum(['pending', 'ready', 'failed'], {
    description: '`pending` until the file has arrived, then `ready`, or `failed` if it cannot be used',
  }),
  content_type: Type.Enum([...IMAGE_CONTENT_TYPES], {
    description: 'As announced; that of the stored image once ready',
  }),
  bytes: Type.Integer({ description: 'As announced; those of the stored image once ready' }),
  width: countOrNull({ description: 'In pixels; null until ready' }),
  height: countOrNull({ description: 'In pixels; null until ready' }),
  error: textOrNull({ description: 'Why the file cannot be used' }),
  created_at: Timestamp,
  expires_at: Type.Unsafe<Date>({
    ...Timestamp,
    description: 'When it is deleted unless it is used until then, or a generation uses it',
  }),
});

export function presentUpload(upload: Upload): Static<typeof UploadResponse> {
  return presentAs(UploadResponse, upload, { content_type: upload.content_type as 'image/png' });
}
