import { db } from '../../lib/database/pool.ts';
import { type ExportList, listTable, selectNext } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { deleteAccountUploads } from './expireUploads.ts';
import { DELETE_UPLOAD_FILES } from './uploads.ts';

/** Lists the images that generations took as input. */
const GENERATION_INPUTS: ExportList = {
  name: 'generation_inputs',
  mode: 'both',
  select: (accountId, after) => {
    const inputs = db('generation_inputs').select('generation_uuid', 'role', 'position', 'upload_uuid');
    const position = db.raw(`generation_uuid || ' ' || role || ' ' || lpad(cast(position AS text), 5, '0')`);
    return selectNext(inputs.where({ account_id: accountId }), position, after);
  },
};

export const UPLOADS: DomainFeature = {
  exportLists: [
    listTable(
      'uploads',
      'uuid',
      ['uuid', 'source', 'status', 'content_type', 'bytes', 'width', 'height', 'error', 'created_at', 'expires_at'],
      { mode: 'both' },
    ),
    GENERATION_INPUTS,
  ],
  tasks: [DELETE_UPLOAD_FILES],
  erasure: { after: ({ id: accountId }) => deleteAccountUploads(accountId) },
};
