import type { VNode } from 'preact';
import { buildExampleRequest, findExampleModel } from '../../../shared/lib/catalog/exampleRequests.ts';
import { config } from '../../../shared/lib/config.ts';
import { t } from '../texts.ts';
import { CopyText } from './copyText.tsx';

/** A create request in the ways in which people send it first. @param apiKey stands in them as it is. */
export function RequestSamples({ apiKey }: { apiKey: string }): VNode | null {
  const model = findExampleModel('image') ?? findExampleModel('video');
  if (model === undefined) return null;
  const { params } = buildExampleRequest(model);
  const body = { model: model.slug, prompt: 'A lighthouse at dusk', params };
  return (
    <>
      <CopyText id="sample-curl" text={buildCurl(apiKey, body)} label={t.requestFor({ program: 'curl' })} />
      <details>
        <summary>JavaScript</summary>
        <CopyText
          id="sample-javascript"
          text={buildJavaScript(apiKey, body)}
          label={t.requestIn({ language: 'JavaScript' })}
        />
      </details>
      <details>
        <summary>Python</summary>
        <CopyText id="sample-python" text={buildPython(apiKey, body)} label={t.requestIn({ language: 'Python' })} />
      </details>
    </>
  );
}

const getUrl = () => `${config.BASE_URL}/api/generations/create/`;

/** Builds the command of a create request. An apostrophe ends the quotes of the shell. */
export const buildCurl = (apiKey: string, body: object): string =>
  `curl ${getUrl()} \\
  -H "Authorization: Bearer ${apiKey}" -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;

const buildJavaScript = (apiKey: string, body: object) =>
  `const response = await fetch('${getUrl()}', {
  method: 'POST',
  headers: { authorization: 'Bearer ${apiKey}', 'content-type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(body)}),
});
console.log(await response.json());`;

const buildPython = (apiKey: string, body: object) =>
  `import urllib.request
request = urllib.request.Request('${getUrl()}',
    data='${JSON.stringify(body)}'.encode(),
    headers={'Authorization': 'Bearer ${apiKey}', 'Content-Type': 'application/json'})
print(urllib.request.urlopen(request).read().decode())`;
