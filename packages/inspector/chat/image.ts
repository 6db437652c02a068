import type { Attachment } from './draft.ts'

/** Larger ones are made smaller by the providers anyway, after they were paid for. */
const mostPixels = 1568
const leastPixels = 128

/** How they begin, in base64: the name of a file is no proof. */
const beginnings: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
}

export const imageTypes = Object.keys(beginnings)

export function imageType(base64: string): string | undefined {
  return imageTypes.find((type) => base64.startsWith(String(beginnings[type])))
}

/** The same shape, with no side longer than `most`. */
export function fitted(width: number, height: number, most: number): { width: number; height: number } {
  const scale = Math.min(1, most / Math.max(width, height))
  return { width: Math.round(width * scale) || 1, height: Math.round(height * scale) || 1 }
}

/**
 * An image as it goes into a message: as it is if it is small enough, otherwise drawn again, each time smaller, until it fits. `budget`
 * is how many characters of base64 it may have. Rejects with words for the person who chose it.
 */
export async function attachedImage(file: Blob, budget: number): Promise<Attachment> {
  let data = await base64Of(file)
  const type = imageType(data)
  const bitmap = await createImageBitmap(file).catch(() => undefined)
  if (!type || !bitmap) throw new Error('Only PNG, JPEG, GIF and WebP images can be sent.')
  let longest = Math.max(bitmap.width, bitmap.height)
  for (let most = mostPixels; longest > mostPixels || data.length > budget; most *= 0.75) {
    if (most < leastPixels) throw new Error('This image is too large.')
    data = drawn(bitmap, type, most)
    longest = most
  }
  // Where a browser cannot write WebP it writes PNG.
  return { type: 'image', data, mediaType: imageType(data) ?? type }
}

/** A photograph stays one; what has sharp lines or holes becomes WebP. */
function drawn(bitmap: ImageBitmap, type: string, most: number): string {
  const canvas = document.createElement('canvas')
  const { width, height } = Object.assign(canvas, fitted(bitmap.width, bitmap.height, most))
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, width, height)
  return withoutHead(canvas.toDataURL(type === 'image/jpeg' ? type : 'image/webp', 0.85))
}

function base64Of(file: Blob): Promise<string> {
  const reader = new FileReader()
  reader.readAsDataURL(file)
  return new Promise((resolve) => {
    reader.onloadend = () => resolve(withoutHead(String(reader.result)))
  })
}

/** Of `data:image/png;base64,…`. */
function withoutHead(url: string): string {
  return url.slice(url.indexOf(',') + 1)
}
