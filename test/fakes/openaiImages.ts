import type { FakeUpstream } from './fakeUpstream.ts';

/** Forms in which OpenAI-compatible upstreams return images. */
export type ImageForm = 'b64_json' | 'url' | 'data url' | 'url of another host';

/** Makes a fake return images in another form, with null in the fields that are not used. */
export function returnImagesAs(fake: FakeUpstream, form: ImageForm, otherUrl: string): void {
  fake.changeBody = (body, operation) => {
    if (operation !== 'submit' || !Array.isArray(body.data)) return body;
    const [{ b64_json: base64 }] = body.data;
    const urls = {
      url: '/files/image.png',
      'data url': `data:image/png;base64,${base64}`,
      'url of another host': `${otherUrl}/files/image.png`,
    };
    const image = form === 'b64_json' ? { b64_json: base64, url: null } : { b64_json: null, url: urls[form] };
    return { ...body, data: [{ ...image, revised_prompt: 'a picture' }] };
  };
}
