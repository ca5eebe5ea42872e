import Type from 'typebox';
import { IMAGE_CONTENT_TYPES } from '../../../shared/gateways/media/inputImages.ts';
import { NO_OTHER_FIELDS, Timestamp, Uuid } from '../../../shared/presenters/fields.ts';
import { IMAGE_MAX_BYTES } from '../../../shared/spec/limits.ts';

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
