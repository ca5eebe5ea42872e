import { LRUCache } from 'lru-cache';

export type { LRUCache } from 'lru-cache';

/**
 * Creates a cache that evicts the least recently used entry when it is full. With `max`, the library would allocate the
 * memory of all entries at once, 3 MB for 100,000; a cache with a size in units of an entry grows with its content.
 * @param ttlMs time after which an entry is gone; 0 for never.
 */
export function createLruCache<Key extends {}, Value extends {}>(maxEntries: number, ttlMs = 0): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({ maxSize: maxEntries, sizeCalculation: () => 1, ttl: ttlMs });
}
