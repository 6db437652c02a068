import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/**
 * A self-signed certificate for a host name, which Node cannot create: X.509 in DER, RFC 5280 §4.1.
 */
export function certificateFor(host: string, { expired = false } = {}): { key: string; cert: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const day = 24 * 60 * 60 * 1000
  const until = Date.now() + (expired ? -day : day)
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(host)))))
  const altName = sequence(der(0x82, Buffer.from(host)))
  const extensions = sequence(
    sequence(oid('551d11'), der(0x04, altName)),
    // It is its own certificate authority.
    sequence(oid('551d13'), der(0x01, Buffer.of(255)), der(0x04, sequence(der(0x01, Buffer.of(255))))),
  )
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ecdsaWithSha256,
    name,
    sequence(time(until - 10 * day), time(until)),
    name,
    spki(privateKey),
    der(0xa3, extensions),
  )
  const signature = der(0x03, Buffer.of(0), sign('sha256', body, privateKey))
  const bytes = sequence(body, ecdsaWithSha256, signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${bytes}\n-----END CERTIFICATE-----\n`,
  }
}

function spki(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

/** UTCTime: `YYMMDDHHMMSSZ`. */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/\D/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${digits}Z`))
}
