import type { VNode } from 'preact';
import { isOverdue, type TaskCount } from '../../../../shared/domain/tasks/listTasks.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import type { Context } from '../../../context.ts';
import { getPathParam } from '../../../pipeline/requestParameters.ts';
import { sendStaffConsolePage } from '../../../web/components/areaPage.tsx';
import { readDocument } from '../../guides/guides.ts';
import { renderGuide } from '../../guides/renderGuide.ts';

export const INCIDENT_PATH = '/admin/incident/' as const;
const RUNBOOKS_PATH = '/admin/runbooks/';
const FOLDER = 'operations/runbooks/';

/** Row of the list of runbooks. */
const ROW = /^\| \[(\w+)\]\(\1\.md\)/gm;

/** Link to the runbook of an alert. */
export function RunbookLink({ alert }: { alert: string }): VNode {
  return <a href={`${RUNBOOKS_PATH}${alert}/`}>{toWords(alert)}</a>;
}

/** Returns the alert that the tasks of a kind are a reason for; null if there is none. */
export function chooseTaskAlert({ oldest, failing, given_up: givenUp }: TaskCount): string | null {
  if (isOverdue(oldest)) return 'GenmeterTasksOverdue';
  if (givenUp > 0) return 'GenmeterTaskGivenUp';
  return failing > 0 ? 'GenmeterTasksFailing' : null;
}

/** Splits the name of an alert: GenmeterModelOffline is Model offline. */
function toWords(alert: string): string {
  const [first = '', ...others] = alert.replace('Genmeter', '').split(/(?=[A-Z][a-z])/);
  return [first, ...others.map((word) => word.toLowerCase())].join(' ');
}

/** Lists the runbooks, which are part of the documentation. */
export const showRunbooks = (ctx: Context): Promise<void> =>
  sendRunbook(ctx, 'Runbooks', readDocument(`${FOLDER}README.md`));

/**
 * Shows the runbook of an alert.
 * @throws ServiceError not_found
 */
export async function showRunbook(ctx: Context): Promise<void> {
  const alert = getPathParam(ctx, 'alert');
  if (!listAlerts().has(alert)) throw new ServiceError('not_found', `Not found. The runbooks are at ${RUNBOOKS_PATH}.`);
  await sendRunbook(ctx, alert, readDocument(`${FOLDER}${alert}.md`));
}

const listAlerts = () => new Set([...readDocument(`${FOLDER}README.md`).matchAll(ROW)].map(([, alert = '']) => alert));

async function sendRunbook(ctx: Context, heading: string, markdown: string): Promise<void> {
  const { html } = renderGuide(markdown, listAlerts(), RUNBOOKS_PATH);
  const children = (
    <>
      <p>
        <a href={INCIDENT_PATH}>Incidents</a> · <a href={RUNBOOKS_PATH}>Runbooks</a>
      </p>
      <article class="card runbook" dangerouslySetInnerHTML={{ __html: html }} />
    </>
  );
  await sendStaffConsolePage(ctx, { current: INCIDENT_PATH, heading, children });
}
