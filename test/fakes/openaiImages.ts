import type { FakeUpstream } from './fakeUpstream.ts';

/** Addresses that OpenAI-compatible upstreams return instead of the content of an image. */
type ImageForm = 'url' | 'data url' | 'url of another host';

/** Makes a fake return the address of an image instead of its content. */
export function returnImagesAs(fake: FakeUpstream, form: ImageForm, otherUrl: string): void {
  fake.changeBody = (body, operation) => {
    if (operation !== 'submit' || !Array.isArray(body.data)) return body;
    const [{ b64_json: base64 }] = body.data;
    const urls = {
      url: '/files/image.png',
      'data url': `data:image/png;base64,${base64}`,
      'url of another host': `${otherUrl}/files/image.png`,
    };
    return { ...body, data: [{ b64_json: null, url: urls[form], revised_prompt: 'a picture' }] };
  };
}
