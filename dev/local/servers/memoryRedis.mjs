// Runs js-redis-server: `node memoryRedis.mjs PORT`. Plain JavaScript, so that node can run it without a loader.
import net from 'node:net';
import { createRedisServer } from 'js-redis-server';

// It listens on all interfaces and has no option for it: without a password that would be an open door.
const listenAnywhere = Reflect.get(net.Server.prototype, 'listen');
net.Server.prototype.listen = function listenLocally(port) {
  return Reflect.apply(listenAnywhere, this, [{ port, host: '127.0.0.1' }]);
};

const { server } = await createRedisServer({ port: Number(process.argv[2]), logger: console });
console.log(`js-redis-server listens at ${server.getAddress()}`);
// There is nothing to save, and connected clients must not delay the exit.
process.once('SIGTERM', () => process.exit(0));
