/**
 * Gets a field of a frame; undefined if it has none.
 *
 * `frame.type` is slow if the frames of an answer have many shapes, as behind some gateways: V8
 * looks up each shape it does not remember outside of compiled code, and takes longest for a missing
 * field. A key that varies, as over all calls of this function, is looked up in the object itself.
 */
export function field(frame: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(frame, key) ? frame[key] : undefined
}
