// The state of the page in the address: compressed JSON after the `#`, which browsers do not send.

// Some programs cut longer addresses.
const LONGEST = 30_000;
// More text than an address of that length can hold by honest means.
const LARGEST = 4_000_000;

async function through(stream, bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const [parts, size] = [[], { now: 0 }];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size.now += value.length;
    if (size.now > LARGEST) throw new Error("too large");
    parts.push(value);
  }
}

// Returns the fragment for a state. Undefined if it would be too long.
export async function encode(state) {
  const json = new TextEncoder().encode(JSON.stringify(state));
  const bytes = await through(new CompressionStream("deflate-raw"), json);
  const characters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const text = btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return text.length > LONGEST ? undefined : `1.${text}`;
}

// Returns the state of a fragment. Undefined if there is none or it cannot be read.
export async function decode(fragment) {
  const [version, text] = fragment.replace(/^#/, "").split(".");
  if (version !== "1" || !text) return undefined;
  try {
    const characters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
    const json = await through(new DecompressionStream("deflate-raw"), bytes);
    return clean(JSON.parse(new TextDecoder().decode(json)));
  } catch {
    return undefined;
  }
}

// Anyone can write an address, so only what a state can hold is taken from it.
function clean(given) {
  const text = (value) => (typeof value === "string" ? value : "");
  const list = (value) => (Array.isArray(value) ? value.slice(0, 500) : []);
  return {
    manifests: text(given.manifests),
    before: text(given.before),
    release: text(given.release),
    nodes: list(given.nodes).map((node) => ({
      name: text(node?.name),
      labels: text(node?.labels),
      taints: text(node?.taints),
    })),
    neverReady: list(given.neverReady).map(text),
  };
}
