import { createAccountSlots } from '../../lib/accountSlots.ts';

/**
 * Fetches or decodes an image of an account once one of its slots is free. The decoder works on one image at a time, so
 * that the images of one account must not fill its queue.
 */
export const withAccountSlot = createAccountSlots(3);
