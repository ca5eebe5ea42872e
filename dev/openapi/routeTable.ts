import { type HttpRoute, toRoute } from '../../api/pipeline/route.ts';
import { HTTP_ROUTES, LOCAL_SIGN_IN_ROUTES } from '../../api/router.ts';

/** Path of the checked-in table, from the root of the repository. */
export const ROUTES_PATH = 'docs/routes.md';

const INTRODUCTION = `# Routes

Every address of the service, who reads its responses, the credential that it requires, how it is counted, its body, and what else is decided before it runs. \`npm run openapi\` writes this table from \`api/router.ts\` and the definitions in \`api/features\`; \`api/pipeline/route.ts\` explains the columns.

| Method | Path | Surface | Credential | Rate | Body | Policy |
|---|---|---|---|---|---|---|
`;

/** Formats the whole route table, with the local sign-in, as a document. */
export function formatRouteTable(): string {
  return `${INTRODUCTION}${[...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES].map(formatRow).join('')}`;
}

function formatRow(row: HttpRoute): string {
  const [method, path] = row;
  const { path: _, handler: __, surface, credential, rateLimit, body, ...policy } = toRoute(row);
  const rules = Object.entries(policy).map(([name, value]) => {
    if (value === true) return name;
    return `${name}: ${typeof value === 'function' ? 'some requests' : value}`;
  });
  return `| ${[method, `\`${path}\``, surface, credential, rateLimit, body, rules.join(', ')].join(' | ')} |\n`.replace(
    '|  |',
    '| |',
  );
}
