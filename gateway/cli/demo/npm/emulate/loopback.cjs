// Loaded before anything else (`node --require`): whatever listens on a port listens on loopback alone.
"use strict";
const net = require("node:net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...given) {
  const done = given.filter((one) => typeof one === "function").slice(-1);
  const first = given[0];
  if (typeof first === "string" && !/^\d+$/.test(first)) {
    return listen.apply(this, given); // a Unix socket
  }
  if (typeof first === "object" && first !== null) {
    if (first.port === undefined) {
      return listen.apply(this, given); // a handle or a Unix socket
    }
    return listen.call(this, { ...first, host: "127.0.0.1", ipv6Only: false }, ...done);
  }
  return listen.call(this, { port: Number(first ?? 0), host: "127.0.0.1" }, ...done);
};
