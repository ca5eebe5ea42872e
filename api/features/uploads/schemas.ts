import Type, { type Static } from 'typebox';
import { IMAGE_CONTENT_TYPES } from '../../../shared/gateways/media/inputImages.ts';
import {
  countOrNull,
  NO_OTHER_FIELDS,
  presentAs,
  textOrNull,
  Timestamp,
  Uuid,
} from '../../../shared/presenters/fields.ts';
import { IMAGE_MAX_BYTES } from '../../../shared/spec/limits.ts';
import type { Upload } from '../../../shared/tables/Upload.ts';

export const CreateUploadRequest = Type.Object(
  {
    content_type: Type.Enum([...IMAGE_CONTENT_TYPES, 'image/jpg'], { description: '`image/jpg` means `image/jpeg`' }),
    bytes: Type.Integer({ minimum: 1, maximum: IMAGE_MAX_BYTES, description: 'Size of the file' }),
  },
  NO_OTHER_FIELDS,
);

export const CreatedUploadResponse = Type.Object({
  uuid: Uuid,
  upload_url: Type.String({ description: 'Receives the file, with the method PUT and no other credential' }),
  headers: Type.Record(Type.String(), Type.String(), { description: 'Headers that the PUT request must carry' }),
  expires_at: Type.Unsafe<Date>({ ...Timestamp, description: 'Until then the file can be sent' }),
});

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
