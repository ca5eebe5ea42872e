/** Examples that several operations share. */
export const EXAMPLE_UUID = '01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69';
export const EXAMPLE_TIMESTAMP = '2026-11-21T09:30:00.000Z';

export const QUEUED_GENERATION = {
  uuid: EXAMPLE_UUID,
  model: 'imgmodel-2',
  model_name: 'Image model',
  kind: 'image',
  prompt: 'A lighthouse at dusk',
  params: { resolution: '1K', aspect_ratio: '1:1' },
  status: 'queued',
  output_url: null,
  thumbnail_url: null,
  credits_charged: 8,
  error_message: null,
  created_at: EXAMPLE_TIMESTAMP,
  completed_at: null,
  duration_ms: null,
  is_watermarked: false,
};

export const SUCCEEDED_GENERATION = {
  ...QUEUED_GENERATION,
  status: 'succeeded',
  output_url: 'https://cdn.example.org/4f/8c1d/image.png',
  thumbnail_url: 'https://cdn.example.org/4f/8c1d/thumbnail.webp',
  completed_at: '2026-11-21T09:30:07.000Z',
  duration_ms: 7_000,
};

export const EXAMPLE_ACCOUNT_PLAN = { slug: 'pro', name: 'Pro', parallel_limit: 5 };

export const EXAMPLE_USER = {
  user: {
    uuid: EXAMPLE_UUID,
    email: 'me@example.org',
    first_name: 'Ada',
    language: 'en',
    use_case: 'Clips for our shop',
    onboarding_step: 'complete',
    is_staff: false,
    social_provider: 'google',
    plan: EXAMPLE_ACCOUNT_PLAN,
    credits: { balance: 1_092 },
    is_affiliate: false,
  },
};

/** Builds a list response with one item. */
export function examplePage(item: unknown): unknown {
  const pagination = { next: null, previous: null, current_page: 1, total_pages: 1, total_items: 1 };
  return { pagination, data: [item] };
}
