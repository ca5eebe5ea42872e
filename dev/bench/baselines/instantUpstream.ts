import { FakeUpstream } from '../../../test/fakes/fakeUpstream.ts';
import { PNG } from '../../../test/fakes/misbehave.ts';
import { serveParent } from '../childProcess.ts';

/** An upstream that completes every request at once and returns a picture of one pixel in the result itself. */
const RESULT = { images: [{ url: `data:image/png;base64,${PNG.toString('base64')}`, content_type: 'image/png' }] };

let delivered = 0;
const upstream = await new FakeUpstream().start();
upstream.changeBody = (body, operation) => {
  if (operation !== 'result') return body;
  delivered += 1;
  return RESULT;
};

serveParent({ base: () => upstream.url, counts: () => ({ submitted: upstream.submits, delivered }) });
