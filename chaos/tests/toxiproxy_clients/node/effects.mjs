// Drives a Toxiproxy through all standard toxics with the client from npm, and looks at what
// they do to connections. TOXIPROXY is where it answers, and ECHO the host and port of
// somebody who sends everything back. Times are lower bounds: what is to be late may be later.

import assert from "node:assert/strict";
import net from "node:net";
import { once } from "node:events";
import toxiproxy from "toxiproxy-node-client";

const AN_HOUR = 3_600_000;
const server = new toxiproxy.Toxiproxy(process.env.TOXIPROXY);
const name = `stagefault-node-${process.pid}`;

// A connection that collects what comes, and how it ends.
class Client {
  received = Buffer.alloc(0);
  error = undefined;

  static async to(address) {
    const [host, port] = address.split(":");
    const client = new Client();
    client.socket = net.connect({ host, port: Number(port), allowHalfOpen: true });
    client.ended = new Promise((resolve) => {
      client.socket.on("end", resolve).on("close", resolve);
      client.socket.on("error", (error) => { client.error = error.code; });
    });
    client.closed = new Promise((resolve) => client.socket.on("close", resolve));
    client.socket.on("data", (bytes) => {
      client.received = Buffer.concat([client.received, bytes]);
      client.socket.emit("more");
    });
    await once(client.socket, "connect");
    return client;
  }

  // Sends this, and waits until it has come back.
  async round(text) {
    const before = this.received.length;
    this.socket.write(text);
    while (this.received.length < before + text.length) {
      await once(this.socket, "more");
    }
    assert.equal(this.received.subarray(before).toString(), text);
  }
}

async function milliseconds(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

// A proxy with one toxic, read back, and a connection that has been through it before.
async function withToxic(type, stream, attributes, test) {
  const proxy = await server.createProxy({
    name, listen: "127.0.0.1:0", upstream: process.env.ECHO, enabled: true,
  });
  try {
    const client = await Client.to(proxy.listen);
    await client.round("before");
    const toxic = await proxy.addToxic({ name: "toxic", type, stream, toxicity: 1, attributes });
    const back = await proxy.getToxic("toxic");
    assert.equal(back.type, type);
    assert.equal(back.stream, stream);
    assert.equal(back.toxicity, 1);
    for (const [attribute, value] of Object.entries(attributes)) {
      assert.equal(back.attributes[attribute], value);
    }
    await test(client, toxic, proxy);
    client.socket.destroy();
    console.log(`${type} ${stream}: seen`);
  } finally {
    await proxy.remove();
  }
}

const tests = {
  latency: [{ latency: 120, jitter: 20 }, async (client) => {
    assert(await milliseconds(() => client.round("late")) >= 95);
  }],
  bandwidth: [{ rate: 100 }, async (client) => {
    assert(await milliseconds(() => client.round("x".repeat(20_000))) >= 190);
  }],
  slow_close: [{ delay: 100 }, async (client) => {
    await client.round("at once");
    assert(await milliseconds(() => { client.socket.end(); return client.ended; }) >= 95);
  }],
  timeout: [{ timeout: 100 }, async (client) => {
    const before = client.received.length;
    assert(await milliseconds(() => { client.socket.write("lost"); return client.ended; }) >= 95);
    assert.equal(client.received.length, before);
  }],
  reset_peer: [{ timeout: 0 }, async (client) => {
    client.socket.write("lost");
    await client.closed;
    assert(["ECONNRESET", "EPIPE"].includes(client.error), client.error);
  }],
  slicer: [{ average_size: 4, size_variation: 1, delay: 10_000 }, async (client) => {
    assert(await milliseconds(() => client.round("in pieces of three to five bytes")) >= 55);
  }],
  limit_data: [{ bytes: 7 }, async (client) => {
    const before = client.received.length;
    client.socket.write("1234567890");
    await client.ended;
    assert("1234567".startsWith(client.received.subarray(before).toString()));
  }],
};

console.log(`version ${(await server.getVersion()).trim()}`);
for (const stream of ["upstream", "downstream"]) {
  for (const [type, [attributes, test]] of Object.entries(tests)) {
    await withToxic(type, stream, attributes, test);
  }
}

await withToxic("latency", "downstream", { latency: AN_HOUR, jitter: 0 }, async (client, toxic) => {
  client.socket.write("held");
  const changed = await toxic.update({ toxicity: 1, attributes: { latency: 0 } });
  assert.equal(changed.attributes.latency, 0);
  while (!client.received.toString().endsWith("held")) {
    await once(client.socket, "more");
  }
});

await withToxic("timeout", "upstream", { timeout: 0 }, async (client, toxic, proxy) => {
  const off = await proxy.update({ enabled: false, listen: proxy.listen, upstream: proxy.upstream });
  assert.equal(off.enabled, false);
  await client.ended;
  await assert.rejects(Client.to(proxy.listen), { code: "ECONNREFUSED" });
  await toxic.remove();
  await proxy.update({ enabled: true, listen: proxy.listen, upstream: proxy.upstream });
  await (await Client.to(proxy.listen)).round("again");
});

const populated = await server.populate([
  { name, listen: "127.0.0.1:0", upstream: process.env.ECHO, enabled: true },
]);
assert.equal((await server.getAll())[name].listen, populated[name].listen);
assert.equal((await server.get(name)).name, name);
await populated[name].remove();
await assert.rejects(server.get(name), toxiproxy.ToxiproxyError);
console.log("all toxics seen");
process.exit(0);
