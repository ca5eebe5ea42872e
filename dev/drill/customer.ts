import { randomUUID } from 'node:crypto';
import { createDemoClient } from '../demo/client.ts';

/** A customer who uses the service over HTTP. */
export interface DrillCustomer {
  email: string;
  /** Opens a checkout page. @returns its address. */
  openCheckout(path: string, body: object): Promise<string>;
  createImages(number: number): Promise<void>;
}

/** Signs a new customer in. */
export async function createDrillCustomer(baseUrl: string): Promise<DrillCustomer> {
  const email = `${randomUUID()}@example.com`;
  const client = createDemoClient(baseUrl, () => {});
  await client.post('/authentication/dev/sign-in/', { email });
  return {
    email,
    openCheckout: async (path, body) => (await client.post<{ checkout_url: string }>(path, body)).checkout_url,
    createImages: async (number) => {
      for (let index = 0; index < number; index += 1) {
        const body = { model: 'imgmodel-2', prompt: `image ${index}`, params: { resolution: '1K' } };
        await client.post('/api/generations/create/', body);
      }
    },
  };
}
