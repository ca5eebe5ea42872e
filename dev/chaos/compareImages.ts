import type { Queryable, Violation } from '../../shared/domain/invariant.ts';
import type { UpstreamJob } from '../../test/fakes/fakeUpstream.ts';
import type { ClientStore } from './clients/clients.ts';

const INVARIANT = 'generations-have-their-images';
const STATEMENT =
  'A paid generation that was created from an image keeps it until it is deleted, and each of its runs received it.';

interface ImageRow {
  account_id: string;
  uuid: string;
  prompt: string;
  is_kept: boolean;
  /** Images that its charge recorded, and those that can still be used. */
  recorded: number;
  ready: number;
}

/** Compares the creates with an image with what was charged, kept and run, when nothing is in progress. */
export async function compareImages(
  { createsByPrompt }: Pick<ClientStore, 'createsByPrompt'>,
  jobs: readonly UpstreamJob[],
  client: Queryable,
): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT g.account_id::text AS account_id, g.uuid, p.prompt,
            g.status = 'succeeded' AND g.deleted_at IS NULL AND NOT g.is_test AS is_kept,
            (SELECT count(*)::int FROM chaos.inputs c WHERE c.generation = g.uuid) AS recorded,
            (SELECT count(*)::int FROM generation_inputs i JOIN uploads u ON u.uuid = i.upload_uuid AND u.status = 'ready'
              WHERE i.generation_uuid = g.uuid AND i.account_id = g.account_id) AS ready
       FROM generations g JOIN chaos.prompts p ON p.generation = g.uuid`,
  );
  const runsWithoutImage = new Set(
    jobs.filter(({ request }) => !JSON.stringify(request.body).includes('/uploads/')).map(({ prompt }) => prompt),
  );
  const report = ({ account_id: accountId, uuid }: ImageRow, detail: string): Violation => ({
    invariant: INVARIANT,
    statement: STATEMENT,
    accountId,
    subject: `generation ${uuid}`,
    detail,
  });
  return (rows as ImageRow[]).flatMap((row) => {
    const { prompt, recorded, ready, is_kept: isKept } = row;
    const expected = createsByPrompt.get(prompt)?.hasImage === true ? 1 : 0;
    if (recorded !== expected) return report(row, `has ${recorded} images instead of ${expected}`);
    if (isKept && ready !== expected) return report(row, `${ready} of its images are left`);
    return expected === 1 && runsWithoutImage.has(prompt) ? report(row, 'was run without its image') : [];
  });
}
