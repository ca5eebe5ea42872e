import { readIncident } from '../../../../../shared/domain/staff/incident.ts';
import type { Context } from '../../../../context.ts';
import { sendIncidentPage } from './view.tsx';

/** Shows what fails now, whom it affects, and what waits, on one page. */
export async function showIncident(ctx: Context): Promise<void> {
  await sendIncidentPage(ctx, await readIncident());
}
