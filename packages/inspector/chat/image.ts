import type { Attachment } from './draft.ts'

/** Providers shrink larger images anyway, after the upload. */
const maxPixels = 1568
const minPixels = 128

/** The first bytes in base64, since a file name can lie. */
const base64Prefixes: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
}

export const imageTypes = Object.keys(base64Prefixes)

export function imageType(base64: string): string | undefined {
  return imageTypes.find((type) => base64.startsWith(String(base64Prefixes[type])))
}

/** The same aspect ratio, with no side longer than `most`. */
export function fitWithin(width: number, height: number, most: number): { width: number; height: number } {
  const scale = Math.min(1, most / Math.max(width, height))
  return { width: Math.round(width * scale) || 1, height: Math.round(height * scale) || 1 }
}

/**
 * An image for a message: unchanged if it is small enough, otherwise shrunk until it fits. `budget`
 * is the maximum number of base64 characters. Rejects with a message for the user.
 */
export async function imageAttachment(file: Blob, budget: number): Promise<Attachment> {
  let data = await base64Of(file)
  const type = imageType(data)
  const bitmap = await createImageBitmap(file).catch(() => undefined)
  if (!type || !bitmap) throw new Error('Only PNG, JPEG, GIF and WebP images can be sent.')
  let longest = Math.max(bitmap.width, bitmap.height)
  for (let most = maxPixels; longest > maxPixels || data.length > budget; most *= 0.75) {
    if (most < minPixels) throw new Error('This image is too large.')
    data = resized(bitmap, type, most)
    longest = most
  }
  // A browser that cannot encode WebP encodes PNG.
  return { type: 'image', data, mediaType: imageType(data) ?? type }
}

/** JPEG stays JPEG. Everything else becomes WebP, which keeps sharp lines and transparency. */
function resized(bitmap: ImageBitmap, type: string, most: number): string {
  const canvas = document.createElement('canvas')
  const { width, height } = Object.assign(canvas, fitWithin(bitmap.width, bitmap.height, most))
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, width, height)
  return base64Part(canvas.toDataURL(type === 'image/jpeg' ? type : 'image/webp', 0.85))
}

function base64Of(file: Blob): Promise<string> {
  const reader = new FileReader()
  reader.readAsDataURL(file)
  return new Promise((resolve) => {
    reader.onloadend = () => resolve(base64Part(String(reader.result)))
  })
}

/** The part after the comma of `data:image/png;base64,…`. */
function base64Part(url: string): string {
  return url.slice(url.indexOf(',') + 1)
}
